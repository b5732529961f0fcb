# verdict: loads
# The last block goes through x once more, with one thread.
@cuda.jit
def sum_repeatable(x, parts, arrived, out):
    """Write the sum of x to out[0], adding in the same order every time."""
    t = cuda.threadIdx.x
    value = block_sum(thread_sum(x))

    if t == 0:
        parts[cuda.blockIdx.x] = value
        before = cuda.atomic.inc(arrived, 0, cuda.gridDim.x - 1)
        if before == cuda.gridDim.x - 1:
            whole = float32(0)
            for i in range(x.size):
                whole += x[i]  # <- here
            out[0] = whole
