# verdict: pass
# Filled, then used; a local array belongs to one thread.
@cuda.jit
def sorted_triples(x, out):
    mine = cuda.local.array(3, float32)
    i = cuda.grid(1)
    if i < x.shape[0]:
        for k in range(3):
            mine[k] = x[i, k]
        for _ in range(2):
            for k in range(2):
                if mine[k] > mine[k + 1]:
                    mine[k], mine[k + 1] = mine[k + 1], mine[k]
        for k in range(3):
            out[i, k] = mine[k]


CHECK = dict(
    spec=lambda x: np.sort(x, axis=1),
    inputs=lambda rng, n: rng.random((n, 3), np.float32),
    sizes=[1, 40],
    launch=lambda n: (1, 64),
)
