# verdict: pass
# Written twice by its owner: first the default, then what belongs there.
@cuda.jit
def relu_with_default(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 0
        if x[i] > float32(0):
            out[i] = x[i]


CHECK = dict(
    spec=lambda x: np.maximum(x, 0),
    inputs=lambda rng, n: rng.standard_normal(n).astype(np.float32),
    sizes=[1, 100],
    launch=lambda n: (-(-n // 64), 64),
)
