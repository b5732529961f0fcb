# verdict: negative-index
# Reversed, the guard belongs to the other end.
@cuda.jit
def reverse_too_far(x, out):
    i = cuda.grid(1)
    if i <= x.size:
        out[x.size - 1 - i] = x[i - 1]  # <- here


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[100],
    launch=lambda n: (-(-n // 64), 64),
)
