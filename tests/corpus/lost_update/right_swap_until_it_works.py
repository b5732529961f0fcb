# verdict: pass
# Guess the old value, swap, and try again with what was really there.
@cuda.jit
def product_by_swaps(x, out):
    i = cuda.grid(1)
    if i < x.size:
        guess = 1
        old = cuda.atomic.cas(out, 0, guess, guess * x[i] % 1009)
        while old != guess:
            guess = old
            old = cuda.atomic.cas(out, 0, guess, guess * x[i] % 1009)


CHECK = dict(
    spec=lambda x: np.array([math.prod(map(int, x)) % 1009]),
    inputs=lambda rng, n: rng.integers(1, 1000, n),
    sizes=[1, 100],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.ones(1, np.int64),
)
