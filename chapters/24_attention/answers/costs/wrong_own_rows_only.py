# verdict: answer
# A block reads only its own part of k and v.
def costs(heads, seq, d, tile):
    """Return the operations of attention, and the bytes of both programs."""
    rows, matrix = 2 * seq * d, 2 * seq * seq
    blocks = -(-seq // tile)
    flops = 4 * seq * seq * d
    naive = 4 * rows + 4 * matrix
    fused = 4 * rows
    return heads * flops, heads * naive, heads * fused  # <- here
