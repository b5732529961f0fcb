# verdict: unwritten
# The places of two pairs of warps are 32 apart, not 64.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    warp, lane = t // 32, t % 32
    i = warp // 2 * 32 + 2 * lane + warp % 2

    if i < x.size:
        if warp % 2 == 0:
            out[i] = rise(x[i], table)
        else:
            out[i] = fold(x[i], table)
