# verdict: type
# My own function works in a kernel as it does anywhere else.
def squared(value):
    return value * value


@cuda.jit
def call_a_plain_function(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = squared(x[i])  # <- here


CHECK = dict(
    spec=lambda x: x * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[10],
    launch=lambda n: (1, 32),
)
