# verdict: answer
# Count one head only.
def costs(heads, seq, d, tile):
    """Return the operations of attention, and the bytes of both programs."""
    rows, matrix = 2 * seq * d, 2 * seq * seq
    blocks = -(-seq // tile)
    flops = 4 * seq * seq * d
    naive = 4 * rows + 4 * matrix
    fused = 2 * rows + blocks * 2 * rows
    return flops, naive, fused  # <- here
