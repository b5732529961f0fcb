# verdict: exception
# A function gives back its result.
@cuda.jit
def return_the_result(x, out):
    i = cuda.grid(1)
    if i < x.size:
        return float32(2) * x[i]  # <- here


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[10],
    launch=lambda n: (1, 32),
)
