# verdict: flops
# Compute both and choose: there is no branch, but twice the work.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    if t < x.size:
        v = x[t]
        risen, folded = rise(v, table), fold(v, table)
        out[t] = risen if t % 2 == 0 else folded
