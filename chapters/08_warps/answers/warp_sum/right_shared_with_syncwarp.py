# verdict: pass
# Through shared memory, with a syncwarp after each step.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    tile = cuda.shared.array(1024, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x

    tile[t] = x[i]
    cuda.syncwarp()
    for delta in (16, 8, 4, 2, 1):
        if t % 32 < delta:
            tile[t] += tile[t + delta]
        cuda.syncwarp()
    if t % 32 == 0:
        out[i // 32] = tile[t]
