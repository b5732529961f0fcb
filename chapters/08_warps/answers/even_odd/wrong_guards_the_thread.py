# verdict: out-of-bounds
# Test whether there is an element t, and then take element i.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    warp, lane = t // 32, t % 32
    i = warp // 2 * 64 + 2 * lane + warp % 2

    if t < x.size:
        if warp % 2 == 0:
            out[i] = rise(x[i], table)  # <- here
        else:
            out[i] = fold(x[i], table)
