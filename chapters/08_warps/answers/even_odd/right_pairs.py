# verdict: pass
# A thread takes a pair: there is no branch to diverge at.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    i = 2 * t

    if i < x.size:
        out[i] = rise(x[i], table)
    if i + 1 < x.size:
        out[i + 1] = fold(x[i + 1], table)
