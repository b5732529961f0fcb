# verdict: endless-loop
# Add up while there is something left.
@cuda.jit
def sum_without_progress(x, out):
    i = cuda.grid(1)
    total = float32(0)
    k = 0
    while k < x.shape[1]:  # <- here
        total += x[i, k]
    out[i] = total


CHECK = dict(
    spec=lambda x: x.sum(axis=1),
    inputs=lambda rng, n: rng.random((n, 4), np.float32),
    sizes=[4],
    launch=lambda n: (1, n),
)
