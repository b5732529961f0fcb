# verdict: loads
# Each lane counts those before it, in shared memory.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    kept = cuda.shared.array(64, int32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    keep = i < x.size and x[i] > float32(0)

    kept[t] = 1 if keep else 0
    cuda.syncwarp()
    first, place = t // 32 * 32, 0
    for k in range(first, t):
        place += kept[k]  # <- here
    if keep:
        out[i - cuda.laneid + place] = x[i]
    if i < x.size and (t % 32 == 31 or i == x.size - 1):
        counts[i // 32] = place + kept[t]
