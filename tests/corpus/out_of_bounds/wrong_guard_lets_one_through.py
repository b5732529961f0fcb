# verdict: out-of-bounds
# The guard is there: i must not be greater than the size.
@cuda.jit
def square_up_to_size(x, out):
    i = cuda.grid(1)
    if i <= x.size:
        out[i] = x[i] * x[i]  # <- here


CHECK = dict(
    spec=lambda x: x * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 300],
    launch=lambda n: (-(-(n + 1) // 128), 128),
)
