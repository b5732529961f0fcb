# verdict: race
# All lanes meet in the ballot, so what they stored before is there.
@cuda.jit
def reverse_after_ballot(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x

    tile[t] = x[t]  # <- here
    votes = cuda.ballot_sync(0xFFFFFFFF, x[t] > float32(0.5))
    out[t] = tile[31 - t] + cuda.popc(votes)  # <- here


CHECK = dict(
    spec=lambda x: x[::-1] + np.count_nonzero(x > 0.5),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
