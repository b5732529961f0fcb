# verdict: pass
# Powers of two, so a mask will do for the remainder.
@cuda.jit
def sum_interleaved(x, out):
    """Write the sum of each run of BLOCK elements of x into out."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    for level in range(8):
        step = 1 << level
        if t & (2 * step - 1) == 0:
            tile[t] = tile[t] + tile[t + step]
        cuda.syncthreads()

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
