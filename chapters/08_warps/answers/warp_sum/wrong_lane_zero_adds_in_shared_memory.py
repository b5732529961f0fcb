# verdict: loads
# Lane 0 adds up the 32 values in shared memory.
@cuda.jit
def warp_sum(x, out):
    """Write the sum of each group of 32 elements of x into out."""
    tile = cuda.shared.array(1024, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x

    tile[t] = x[i]
    cuda.syncwarp()
    if cuda.laneid == 0:
        total = float32(0)
        for k in range(32):
            total += tile[t + k]  # <- here
        out[i // 32] = total
