# verdict: input-written
# Scale first, then store; x is an array like any other.
@cuda.jit
def scale_the_input(x, out):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= float32(2)  # <- here
        out[i] = x[i]


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
)
