# verdict: wrong-value
# One part per thread; but any further parts are left out.
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
        whole = parts[t] if t < cuda.gridDim.x else float32(0)
        whole = block_sum(whole)
        if t == 0:
            out[0] = whole  # <- here
