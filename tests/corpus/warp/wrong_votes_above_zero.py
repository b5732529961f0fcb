# verdict: wrong-value
# A ballot with at least one vote is greater than zero.
@cuda.jit
def anyone_by_comparison(x, out):
    t = cuda.threadIdx.x
    votes = cuda.ballot_sync(0xFFFFFFFF, x[t] > float32(0.5))
    out[t] = 1 if votes > 0 else 0  # <- here


CHECK = dict(
    spec=lambda x: np.full(x.size, (x > 0.5).any(), np.int32),
    inputs=lambda rng, n: np.append(rng.random(n - 1, np.float32), np.float32(1)),
    sizes=[32],
    launch=lambda n: (1, n),
)
