# verdict: pass
# Global memory is handed over within the block, and the block waits.
@cuda.jit
def reverse_each_block_in_global(x, work, out):
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * cuda.blockDim.x
    work[start + t] = float32(2) * x[start + t]
    cuda.syncthreads()
    out[start + t] = work[start + cuda.blockDim.x - 1 - t]


CHECK = dict(
    spec=lambda x: (2 * x, 2 * x.reshape(-1, 32)[:, ::-1].reshape(-1)),
    inputs=lambda rng, n: rng.random(32 * n, np.float32),
    sizes=[3],
    launch=lambda n: (n, 32),
)
