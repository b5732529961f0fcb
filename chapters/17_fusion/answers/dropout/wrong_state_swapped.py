# verdict: wrong-value
# The step is the key, the seed a counter.
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    for k in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        a, b, c, d = load4(x, 4 * k)
        p, q, r, s = philox(uint32(k), state[0], uint32(0), uint32(0), state[1], uint32(0))
        store4(out, 4 * k, keep(p, a), keep(q, b), keep(r, c), keep(s, d))
