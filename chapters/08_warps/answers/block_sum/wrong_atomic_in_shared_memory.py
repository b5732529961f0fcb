# verdict: library
# All threads add to one element of shared memory, atomically.
@cuda.jit
def block_sum(x, out):
    """Write the sum of each group of 256 elements of x into out."""
    total = cuda.shared.array(1, float32)
    i = cuda.grid(1)

    if cuda.threadIdx.x == 0:
        total[0] = float32(0)
    cuda.syncthreads()
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])  # <- here
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total[0]
