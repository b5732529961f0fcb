# verdict: pass
# Write out the distances.
@cuda.jit
def sum_sequential(x, out):
    """Write the sum of each run of BLOCK elements into out, adding halves."""
    tile = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()

    for step in (128, 64, 32, 16, 8, 4, 2, 1):
        if t < step:
            tile[t] = tile[t] + tile[t + step]
        cuda.syncthreads()

    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
