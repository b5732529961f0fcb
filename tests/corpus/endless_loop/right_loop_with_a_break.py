# verdict: pass
# `while True`, but each thread finds its way out.
@cuda.jit
def first_above_half(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        k = 0
        while True:
            if k == x.shape[1] or x[i, k] > float32(0.5):
                break
            k += 1
        out[i] = k


CHECK = dict(
    spec=lambda x: np.array(
        [next((k for k, v in enumerate(r) if v > 0.5), r.size) for r in x], np.int32
    ),
    inputs=lambda rng, n: rng.random((n, 5), np.float32),
    sizes=[1, 60],
    launch=lambda n: (1, 64),
)
