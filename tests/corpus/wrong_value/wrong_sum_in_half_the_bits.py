# verdict: wrong-value
# The values are small, so eight bits hold them.
@cuda.jit
def sum_in_eight_bits(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        total = np.uint8(0)
        for k in range(x.shape[1]):
            total = np.uint8(total + x[i, k])
        out[i] = total  # <- here


CHECK = dict(
    spec=lambda x: x.sum(axis=1),
    inputs=lambda rng, n: rng.integers(0, 100, (n, 8)),
    sizes=[20],
    launch=lambda n: (1, 32),
)
