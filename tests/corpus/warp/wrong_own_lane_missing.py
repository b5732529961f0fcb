# verdict: warp
# Only the lower half has something to give, so the mask names the lower half.
@cuda.jit
def take_from_the_lower_half(x, out):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_sync(0x0000FFFF, x[t], t % 16)  # <- here


CHECK = dict(
    spec=lambda x: np.append(x[:16], x[:16]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
