# verdict: pass
# A thread keeps its sum in a register, and reads only the other half.
@cuda.jit
def sum_sequential(x, out):
    """Write the sum of each run of BLOCK elements into out, adding halves."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    mine = tile[t]
    for level in range(7, -1, -1):
        half = 1 << level
        if t < half:
            mine += tile[half + t]
            tile[t] = mine
        cuda.syncthreads()

    if t == 0:
        out[cuda.blockIdx.x] = mine
