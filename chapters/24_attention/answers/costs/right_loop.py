# verdict: pass
# Add up block by block.
def costs(heads, seq, d, tile):
    """Return the operations of attention, and the bytes of both programs."""
    rows, matrix = 2 * seq * d, 2 * seq * seq
    blocks = -(-seq // tile)
    flops = 4 * seq * seq * d
    naive = 4 * rows + 4 * matrix
    fused = 0
    for first in range(0, seq, tile):
        fused += 4 * min(tile, seq - first) * d + 4 * seq * d
    return heads * flops, heads * naive, heads * fused
