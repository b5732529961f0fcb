# verdict: flops
# Compute both, and multiply one of them by 0.
@cuda.jit
def even_odd(x, table, out):
    """Send even samples through rise, odd ones through fold."""
    t = cuda.grid(1)

    if t < x.size:
        v = x[t]
        risen, folded = rise(v, table), fold(v, table)
        out[t] = risen * float32(1 - t % 2) + folded * float32(t % 2)
