# verdict: loads
# The pairs are the right ones; which thread adds them does not matter.
@cuda.jit
def sum_sequential(x, out):
    """Write the sum of each run of BLOCK elements into out, adding halves."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    if t == 0:
        total = float32(0)
        for k in range(BLOCK // 2):
            total += tile[k] + tile[k + BLOCK // 2]  # <- here
        out[cuda.blockIdx.x] = total
