# verdict: pass
# All lanes read the same element: one sector.
@cuda.jit
def divide_by_the_last(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] / x[x.size - 1]


CHECK = dict(
    spec=lambda x: x / x[-1],
    inputs=lambda rng, n: rng.random(n, np.float32) + np.float32(1),
    sizes=[1, 128],
    launch=lambda n: (-(-n // 64), 64),
    limits={"sectors": 4},
)
