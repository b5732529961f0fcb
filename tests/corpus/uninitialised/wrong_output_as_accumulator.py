# verdict: uninitialised
# Add up right in the output; it saves a variable.
@cuda.jit
def row_sums_in_output(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        for k in range(x.shape[1]):
            out[i] += x[i, k]  # <- here


CHECK = dict(
    spec=lambda x: x.sum(axis=1),
    inputs=lambda rng, n: rng.random((n, 6), np.float32),
    sizes=[40],
    launch=lambda n: (1, 64),
)
