# verdict: pass
# The first half of the threads takes the even elements, the second the odd ones.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    half = (x.size + 1) // 2

    if t < half:
        out[2 * t] = rise(x[2 * t], table)
    elif t < x.size:
        i = 2 * (t - half) + 1
        out[i] = fold(x[i], table)
