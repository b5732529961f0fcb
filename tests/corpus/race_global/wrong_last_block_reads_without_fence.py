# verdict: race
# Store, fence, ticket: the block with the last ticket knows that all have stored.
@cuda.jit
def last_block_adds_up(x, parts, count, out):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    ticket = cuda.shared.array(1, int32)
    if t == 0:
        total = float32(0)
        for k in range(32):
            total += x[32 * b + k]
        parts[b] = total  # <- here
        cuda.threadfence()
        ticket[0] = cuda.atomic.add(count, 0, 1)  # <- here
    cuda.syncthreads()

    if ticket[0] == cuda.gridDim.x - 1 and t == 0:
        total = float32(0)
        for k in range(cuda.gridDim.x):
            total += parts[k]  # <- here
        out[0] = total


CHECK = dict(
    spec=lambda x: (
        x.reshape(-1, 32).sum(axis=1),
        np.array([x.size // 32], np.int32),
        x.sum(keepdims=True),
    ),
    inputs=lambda rng, n: rng.random(32 * n, np.float32),
    sizes=[4],
    launch=lambda n: (n, 32),
    out=lambda x: (
        np.zeros(x.size // 32, np.float32),
        np.zeros(1, np.int32),
        np.zeros(1, np.float32),
    ),
)
