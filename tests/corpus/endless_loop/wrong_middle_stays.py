# verdict: endless-loop
# Binary search: keep the half that holds the value.
@cuda.jit
def search_without_end(x, wanted, out):
    i = cuda.grid(1)
    if i < wanted.size:
        low, high = 0, x.size
        while low < high:  # <- here
            middle = (low + high) // 2
            if x[middle] <= wanted[i]:
                low = middle
            else:
                high = middle
        out[i] = low


CHECK = dict(
    spec=lambda x, wanted: np.searchsorted(x, wanted, "right"),
    inputs=lambda rng, n: (
        np.sort(rng.random(n, np.float32)),
        rng.random(4, np.float32),
    ),
    sizes=[16],
    launch=lambda n: (1, 32),
)
