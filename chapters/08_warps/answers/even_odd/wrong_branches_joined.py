# verdict: divergence
# Loads and stores are outside the branch, which still diverges.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    if t < x.size:
        value = x[t]
        if t % 2 == 0:
            value = rise(value, table)
        else:
            value = fold(value, table)
        out[t] = value
