# verdict: race
# All sums are read after the barrier, and cleared for the next row.
@cuda.jit
def subtract_row_sums(x, out):
    total = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    if t == 0:
        total[0] = 0
    cuda.syncthreads()

    for row in range(x.shape[0]):
        cuda.atomic.add(total, 0, x[row, t])
        cuda.syncthreads()
        out[row, t] = x[row, t] - total[0]  # <- here
        if t == 0:
            total[0] = 0  # <- here
        cuda.syncthreads()


CHECK = dict(
    spec=lambda x: x - x.sum(axis=1, keepdims=True),
    inputs=lambda rng, n: rng.random((3, n), np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
