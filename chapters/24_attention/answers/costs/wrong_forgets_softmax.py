# verdict: answer
# The softmax happens in place: S and P are moved once each.
def costs(heads, seq, d, tile):
    """Return the operations of attention, and the bytes of both programs."""
    rows, matrix = 2 * seq * d, 2 * seq * seq
    blocks = -(-seq // tile)
    flops = 4 * seq * seq * d
    naive = 4 * rows + 2 * matrix
    fused = 2 * rows + blocks * 2 * rows
    return heads * flops, heads * naive, heads * fused  # <- here
