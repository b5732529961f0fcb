# verdict: loads
# One thread does it all, so no other thread gets in its way.
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    if cuda.grid(1) == 0:
        for k in range(x.size // 4):
            a, b, c, d = load4(x, 4 * k)
            p, q, r, s = random4(k, state)
            store4(out, 4 * k, keep(p, a), keep(q, b), keep(r, c), keep(s, d))
