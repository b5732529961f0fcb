# verdict: divergence
# The kernel from the text, which is right, but diverges.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    if t < x.size:
        if t % 2 == 0:
            out[t] = rise(x[t], table)  # <- here
        else:
            out[t] = fold(x[t], table)
