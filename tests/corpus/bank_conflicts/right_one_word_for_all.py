# verdict: pass
# All lanes read the same word: it is handed to all of them at once.
@cuda.jit
def products_with_one_word(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    total = float32(0)
    for k in range(64):
        total += tile[k] * x[t]
    out[t] = total


CHECK = dict(
    spec=lambda x: x * x.sum(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
    limits={"bank_conflicts": 0},
)
