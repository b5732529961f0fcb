# verdict: wrong-value
# What is kept stays as it is.
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    for k in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * k)
        p, q, r, s = random4(k, state)
        p = a if p >= CUT else float32(0)
        q = b if q >= CUT else float32(0)
        r = c if r >= CUT else float32(0)
        s = d if s >= CUT else float32(0)
        store4(out, 4 * k, p, q, r, s)
