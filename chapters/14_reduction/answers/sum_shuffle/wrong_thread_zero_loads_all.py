# verdict: loads
# Thread 0 adds up all elements of the block, straight from x.
@cuda.jit
def sum_shuffle(x, out):
    """Write the sum of each block's elements of x into out."""
    if cuda.threadIdx.x == 0:
        total = float32(0)
        start = cuda.blockIdx.x * cuda.blockDim.x
        for i in range(start, min(start + cuda.blockDim.x, x.size)):
            total += x[i]  # <- here
        out[cuda.blockIdx.x] = total
