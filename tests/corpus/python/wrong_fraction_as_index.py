# verdict: type
# The middle is half of the size.
@cuda.jit
def take_the_middle(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[x.size / 2]  # <- here


CHECK = dict(
    spec=lambda x: x[[x.size // 2]],
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[10],
    launch=lambda n: (1, 32),
)
