# verdict: race
# All threads store and fence before the ticket, so all of it is there.
@cuda.jit
def last_block_reverses(x, work, count, out):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    ticket = cuda.shared.array(1, int32)

    work[i] = float32(2) * x[i]  # <- here
    cuda.threadfence()
    cuda.syncthreads()
    if t == 0:
        ticket[0] = cuda.atomic.add(count, 0, 1)  # <- here
    cuda.syncthreads()

    if ticket[0] == cuda.gridDim.x - 1:
        for k in range(t, x.size, cuda.blockDim.x):
            out[k] = work[x.size - 1 - k]  # <- here


CHECK = dict(
    spec=lambda x: (2 * x, np.array([x.size // 32], np.int32), 2 * x[::-1]),
    inputs=lambda rng, n: rng.random(32 * n, np.float32),
    sizes=[4],
    launch=lambda n: (n, 32),
    out=lambda x: (
        np.zeros(x.size, np.float32),
        np.zeros(1, np.int32),
        np.zeros(x.size, np.float32),
    ),
)
