# verdict: warp
# Lane 31 has stored its value and can go.
@cuda.jit
def broadcast_after_return(x, out):
    t = cuda.threadIdx.x
    value = x[t]
    if t == 31:
        out[t] = value
        return
    out[t] = cuda.shfl_sync(0xFFFFFFFF, value, 31)  # <- here


CHECK = dict(
    spec=lambda x: np.full(x.size, x[-1]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
