# verdict: loads
# Each lane goes through the 32 values in shared memory.
@cuda.jit
def warp_max(x, out):
    """Give each element the maximum of its group of 32."""
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x

    tile[t] = x[i] if i < x.size else LOWEST
    cuda.syncwarp()
    value = LOWEST
    for k in range(32):
        value = max(value, tile[t // 32 * 32 + k])  # <- here
    if i < x.size:
        out[i] = value
