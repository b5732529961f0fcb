# verdict: float64
# Divide by nine tenths.
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    for k in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * k)
        p, q, r, s = random4(k, state)
        p = a / (1 - DROPPED) if p >= CUT else float32(0)  # <- here
        q = b / (1 - DROPPED) if q >= CUT else float32(0)
        r = c / (1 - DROPPED) if r >= CUT else float32(0)
        s = d / (1 - DROPPED) if s >= CUT else float32(0)
        store4(out, 4 * k, p, q, r, s)
