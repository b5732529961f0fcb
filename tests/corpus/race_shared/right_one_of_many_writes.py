# verdict: pass
# Many could write it, but exactly one does.
@cuda.jit
def index_of_the_one(x, out):
    where = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x

    if x[t] == 1:
        where[0] = t
    cuda.syncthreads()

    out[t] = where[0]


CHECK = dict(
    spec=lambda x: np.full(x.size, int(np.argmax(x == 1)), np.int32),
    inputs=lambda rng, n: rng.permutation(n).astype(np.int32),
    sizes=[64],
    launch=lambda n: (1, n),
)
