# verdict: pass
# A quarter of a warp takes 128 bytes in one pass: 32 banks, each once.
@cuda.jit
def vectors_side_by_side(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    a, b, c, d = load4(x, 4 * t)
    store4(tile, 4 * t, d, c, b, a)
    cuda.syncthreads()
    a, b, c, d = load4(tile, 252 - 4 * t)
    store4(out, 4 * t, a, b, c, d)


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[256],
    launch=lambda n: (1, 64),
    limits={"bank_conflicts": 0},
)
