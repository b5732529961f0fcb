# verdict: loads
# Thread 0 adds up all values in shared memory.
@cuda.jit
def sum_shuffle(x, out):
    """Write the sum of each block's elements of x into out."""
    tile = cuda.shared.array(1024, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    if cuda.threadIdx.x == 0:
        total = float32(0)
        for k in range(cuda.blockDim.x):
            total += tile[k]  # <- here
        out[cuda.blockIdx.x] = total
