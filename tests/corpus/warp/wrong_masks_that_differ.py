# verdict: warp
# Each lane names itself and its partner on the right.
@cuda.jit
def shuffle_with_own_masks(x, out):
    t = cuda.threadIdx.x
    mask = (1 << t) | (1 << (t + 1) % 32)
    out[t] = cuda.shfl_sync(mask, x[t], (t + 1) % 32)  # <- here


CHECK = dict(
    spec=lambda x: np.roll(x, -1),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
