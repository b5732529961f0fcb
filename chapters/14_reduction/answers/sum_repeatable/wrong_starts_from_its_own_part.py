# verdict: wrong-value
# value already holds the part of this block.
@cuda.jit
def sum_repeatable(x, parts, arrived, out):
    """Write the sum of x to out[0], adding in the same order every time."""
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    value = block_sum(thread_sum(x))

    if t == 0:
        parts[cuda.blockIdx.x] = value
        cuda.threadfence()
        before = cuda.atomic.inc(arrived, 0, cuda.gridDim.x - 1)
        last[0] = before == cuda.gridDim.x - 1
        cuda.threadfence()
    cuda.syncthreads()

    if last[0]:
        for b in range(t, cuda.gridDim.x, cuda.blockDim.x):
            value += parts[b]
        value = block_sum(value)
        if t == 0:
            out[0] = value  # <- here
