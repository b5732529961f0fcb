# verdict: pass
# 64 threads for everything: each takes every 64th element.
@cuda.jit
def double_by_stride(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = float32(2) * x[i]


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 63, 500],
    launch=lambda n: (2, 32),
)
