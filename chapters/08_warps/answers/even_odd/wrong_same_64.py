# verdict: race
# I forgot that each pair of warps has its own 64 elements.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    warp, lane = t // 32, t % 32
    i = 2 * lane + warp % 2

    if i < x.size:
        if warp % 2 == 0:
            out[i] = rise(x[i], table)  # <- here
        else:
            out[i] = fold(x[i], table)
