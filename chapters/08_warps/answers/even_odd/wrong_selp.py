# verdict: flops
# Compute both, and select with an instruction.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    if t < x.size:
        v = x[t]
        risen, folded = rise(v, table), fold(v, table)
        out[t] = cuda.selp(t % 2 == 0, risen, folded)
