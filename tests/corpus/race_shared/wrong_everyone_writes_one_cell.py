# verdict: race
# Only the largest index stays, because it is written last.
@cuda.jit
def last_index_wins(x, out):
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x

    last[0] = t  # <- here
    cuda.syncthreads()

    out[t] = x[t] + last[0]


CHECK = dict(
    spec=lambda x: x + x.size - 1,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
