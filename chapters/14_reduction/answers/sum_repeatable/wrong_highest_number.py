# verdict: race
# The block with the highest number is the last to arrive.
@cuda.jit
def sum_repeatable(x, parts, arrived, out):
    """Write the sum of x to out[0], adding in the same order every time."""
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    value = block_sum(thread_sum(x))

    if t == 0:
        parts[cuda.blockIdx.x] = value  # <- here
        cuda.threadfence()
        cuda.atomic.inc(arrived, 0, cuda.gridDim.x - 1)
        last[0] = cuda.blockIdx.x == cuda.gridDim.x - 1
        cuda.threadfence()
    cuda.syncthreads()

    if last[0]:
        whole = float32(0)
        for b in range(t, cuda.gridDim.x, cuda.blockDim.x):
            whole += parts[b]  # <- here
        whole = block_sum(whole)
        if t == 0:
            out[0] = whole
