# verdict: race
# Block 0 waits until all blocks have arrived.
@cuda.jit
def sum_repeatable(x, parts, arrived, out):
    """Write the sum of x to out[0], adding in the same order every time."""
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    value = block_sum(thread_sum(x))

    if t == 0:
        parts[cuda.blockIdx.x] = value
        cuda.threadfence()
        cuda.atomic.add(arrived, 0, 1)
        if cuda.blockIdx.x == 0:
            while arrived[0] < cuda.gridDim.x:  # <- here
                pass
            whole = float32(0)
            for b in range(cuda.gridDim.x):
                whole += parts[b]
            out[0] = whole
