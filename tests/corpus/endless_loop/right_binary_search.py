# verdict: pass
# The lower end moves past the middle, so the range always shrinks.
@cuda.jit
def search_with_an_end(x, wanted, out):
    i = cuda.grid(1)
    if i < wanted.size:
        low, high = 0, x.size
        while low < high:
            middle = (low + high) // 2
            if x[middle] <= wanted[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low


CHECK = dict(
    spec=lambda x, wanted: np.searchsorted(x, wanted, "right"),
    inputs=lambda rng, n: (
        np.sort(rng.random(n, np.float32)),
        rng.random(50, np.float32),
    ),
    sizes=[1, 100],
    launch=lambda n: (2, 32),
)
