# verdict: pass
# The ballot, which all lanes take part in, gives the mask of those that go on.
@cuda.jit
def first_of_the_large(x, out):
    t = cuda.threadIdx.x
    large = x[t] > float32(0.5)
    mask = cuda.ballot_sync(0xFFFFFFFF, large)
    if large:
        leader = cuda.ffs(mask) - 1
        out[t] = cuda.shfl_sync(mask, x[t], leader)
    else:
        out[t] = 0


CHECK = dict(
    spec=lambda x: np.where(x > 0.5, x[np.argmax(x > 0.5)], 0).astype(x.dtype),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
