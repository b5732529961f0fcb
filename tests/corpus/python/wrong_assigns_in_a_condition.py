# verdict: type
# Names the sum where it is first needed.
@cuda.jit
def clipped_sum(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        if (total := x[i] + y[i]) < 1:  # <- here
            out[i] = total
        else:
            out[i] = 1


CHECK = dict(
    spec=lambda x, y: np.minimum(x + y, 1),
    inputs=lambda rng, n: (rng.random(n, np.float32), rng.random(n, np.float32)),
    sizes=[10],
    launch=lambda n: (1, 32),
)
