# verdict: pass
# 20 lanes, a mask of 20 lanes, and no lane reads beyond them.
@cuda.jit
def rotate_20_lanes(x, out):
    t = cuda.threadIdx.x
    if t < 20:
        out[t] = cuda.shfl_sync(0x000FFFFF, x[t], (t + 1) % 20)


CHECK = dict(
    spec=lambda x: np.roll(x, -1),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[20],
    launch=lambda n: (1, 32),
)
