# verdict: flops
# Each warp takes one parity, but computes both filters.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    warp, lane = t // 32, t % 32
    i = warp // 2 * 64 + 2 * lane + warp % 2
    if i < x.size:
        v = x[i]
        a = rise(v, table)
        b = fold(v, table)
        out[i] = a if warp % 2 == 0 else b
