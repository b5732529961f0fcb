# verdict: wrong-value
# Seven elements to the left, so seven steps.
@cuda.jit
def sum_of_seven(x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(1, 7):
            total += x[i + k]  # <- here
        out[i] = total  # <- here


CHECK = dict(
    spec=lambda x: np.convolve(x, np.ones(7, x.dtype), "valid"),
    inputs=lambda rng, n: rng.random(n + 6, np.float32),
    sizes=[50],
    launch=lambda n: (1, 64),
)
