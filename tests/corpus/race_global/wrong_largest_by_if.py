# verdict: race
# A thread that finds something larger writes it.
@cuda.jit
def largest_by_if(x, out):
    i = cuda.grid(1)
    if i < x.size and x[i] > out[0]:  # <- here
        out[0] = x[i]  # <- here


CHECK = dict(
    spec=lambda x: x.max(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[200],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(1, np.float32),
)
