# verdict: pass
# Two barriers per step: all threads have read before any thread stores.
@cuda.jit
def sum_interleaved(x, out):
    """Write the sum of each run of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    for level in range(8):
        adds = t % (2 << level) == 0
        pair = float32(0)
        if adds:
            pair = tile[t] + tile[t + (1 << level)]
        cuda.syncthreads()
        if adds:
            tile[t] = pair
        cuda.syncthreads()

    if t == BLOCK - 1:
        out[cuda.blockIdx.x] = tile[0]
