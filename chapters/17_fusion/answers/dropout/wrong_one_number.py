# verdict: wrong-value
# One random number for all four.
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    for k in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * k)
        p, q, r, s = random4(k, state)
        store4(out, 4 * k, keep(p, a), keep(p, b), keep(p, c), keep(p, d))
