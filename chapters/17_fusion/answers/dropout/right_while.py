# verdict: pass
# A while loop over elements; the counter is a quarter of the place.
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    i = 4 * cuda.grid(1)
    while i < x.size:
        four = load4(x, i)
        lots = random4(i // 4, state)
        p, q = keep(lots[0], four[0]), keep(lots[1], four[1])
        r, s = keep(lots[2], four[2]), keep(lots[3], four[3])
        store4(out, i, p, q, r, s)
        i += 4 * cuda.gridsize(1)
