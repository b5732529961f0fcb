# verdict: loads
# Each lane looks at all elements before its own.
@cuda.jit
def warp_filter(x, out, counts):
    """Move positive elements to the front of their group of 32; count them."""
    i = cuda.grid(1)
    keep = i < x.size and x[i] > float32(0)

    first, place = i - cuda.laneid, 0
    for k in range(first, min(i, x.size)):
        if x[k] > float32(0):  # <- here
            place += 1
    if keep:
        out[first + place] = x[i]
    if i < x.size and (cuda.laneid == 31 or i == x.size - 1):
        counts[i // 32] = place + keep
