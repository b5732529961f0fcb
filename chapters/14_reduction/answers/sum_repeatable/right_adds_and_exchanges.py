# verdict: pass
# A counter that does not wrap around by itself, reset by an atomic operation.
@cuda.jit
def sum_repeatable(x, parts, arrived, out):
    """Write the sum of x to out[0], adding in the same order every time."""
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    value = block_sum(thread_sum(x))

    if t == 0:
        parts[cuda.blockIdx.x] = value
        cuda.threadfence()
        before = cuda.atomic.add(arrived, 0, 1)
        last[0] = before == cuda.gridDim.x - 1
        cuda.threadfence()
    cuda.syncthreads()

    if last[0]:
        whole = float32(0)
        for b in range(t, cuda.gridDim.x, cuda.blockDim.x):
            whole += parts[b]
        whole = block_sum(whole)
        if t == 0:
            out[0] = whole
            cuda.atomic.exch(arrived, 0, 0)
