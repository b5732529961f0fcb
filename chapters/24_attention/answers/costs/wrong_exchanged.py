# verdict: answer
# The two numbers of bytes, in the other order.
def costs(heads, seq, d, tile):
    """Return the operations, and the bytes of two ways, of attention."""
    rows, matrix = 2 * seq * d, 2 * seq * seq
    blocks = -(-seq // tile)
    flops = 4 * seq * seq * d
    naive = 4 * rows + 4 * matrix
    fused = 2 * rows + blocks * 2 * rows
    return heads * flops, heads * fused, heads * naive  # <- here
