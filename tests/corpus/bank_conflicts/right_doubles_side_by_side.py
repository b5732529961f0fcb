# verdict: pass
# Doubles take two passes of half a warp; neither has a conflict.
@cuda.jit
def reverse_doubles(x, out):
    tile = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[63 - t]


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n),
    sizes=[64],
    launch=lambda n: (1, n),
    limits={"bank_conflicts": 0},
)
