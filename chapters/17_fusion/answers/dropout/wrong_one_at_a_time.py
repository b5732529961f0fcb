# verdict: narrow
# Four elements, one after another.
@cuda.jit
def dropout(x, state, out):
    """Write x into out, scaled, with a tenth dropped; four at a time."""
    for k in range(cuda.grid(1), x.size // 4, cuda.gridsize(1)):
        lots = random4(k, state)
        for j in range(4):
            out[4 * k + j] = keep(lots[j], x[4 * k + j])  # <- here
