# verdict: pass
# The first guess may be stale: then the swap fails and says what was there.
@cuda.jit
def largest_by_swaps(x, out):
    i = cuda.grid(1)
    if i < x.size:
        guess = out[0]
        while x[i] > guess:
            old = cuda.atomic.cas(out, 0, guess, x[i])
            if old == guess:
                break
            guess = old


CHECK = dict(
    spec=lambda x: x.max(keepdims=True),
    inputs=lambda rng, n: rng.integers(1, 1000, n).astype(np.int32),
    sizes=[1, 100],
    launch=lambda n: (-(-n // 64), 64),
    out=lambda x: np.zeros(1, np.int32),
)
