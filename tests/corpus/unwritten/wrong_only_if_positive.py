# verdict: unwritten
# ReLU keeps what is positive; the rest is zero anyway.
@cuda.jit
def relu_of_positive(x, out):
    i = cuda.grid(1)
    if i < x.size:
        if x[i] > float32(0):
            out[i] = x[i]  # <- here


CHECK = dict(
    spec=lambda x: np.maximum(x, 0),
    inputs=lambda rng, n: rng.standard_normal(n).astype(np.float32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
)
