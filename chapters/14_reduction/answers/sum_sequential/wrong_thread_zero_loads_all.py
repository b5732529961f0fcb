# verdict: wrong-value
# Thread 0 adds up all elements of the block, straight from x.
@cuda.jit
def sum_sequential(x, out):
    """Write the sum of each run of BLOCK elements into out, adding halves."""
    if cuda.threadIdx.x == 0:
        total = float32(0)
        start = cuda.blockIdx.x * BLOCK
        for i in range(start, min(start + BLOCK, x.size)):
            total += x[i]
        out[cuda.blockIdx.x] = total
