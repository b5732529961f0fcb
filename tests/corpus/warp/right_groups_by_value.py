# verdict: pass
# match_any gives each lane the mask of its group; each group shuffles by itself.
@cuda.jit
def leader_of_the_group(x, out):
    t = cuda.threadIdx.x
    mask = cuda.match_any_sync(0xFFFFFFFF, x[t])
    leader = cuda.ffs(mask) - 1
    out[t] = cuda.shfl_sync(mask, t, leader)


CHECK = dict(
    spec=lambda x: np.array([int(np.argmax(x == v)) for v in x], np.int32),
    inputs=lambda rng, n: rng.integers(0, 4, n).astype(np.int32),
    sizes=[32],
    launch=lambda n: (1, n),
)
