# verdict: race
# After the barrier all partial sums are there.
@cuda.jit
def partial_sums_and_total(x, parts, out):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if t == 0:
        total = float32(0)
        for k in range(cuda.blockDim.x):
            total += x[b * cuda.blockDim.x + k]
        parts[b] = total  # <- here
    cuda.syncthreads()

    if b == cuda.gridDim.x - 1 and t == 0:
        total = float32(0)
        for k in range(cuda.gridDim.x):
            total += parts[k]  # <- here
        out[0] = total


CHECK = dict(
    spec=lambda x: (x.reshape(-1, 32).sum(axis=1), x.sum(keepdims=True)),
    inputs=lambda rng, n: rng.random(32 * n, np.float32),
    sizes=[4],
    launch=lambda n: (n, 32),
)
