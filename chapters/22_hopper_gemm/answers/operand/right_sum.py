# verdict: pass
# A sum of products.
def operand(start, row, k, size):
    """Return the descriptor of an operand in a tile with 128-byte rows."""
    sixteens = start // 16 + 8 * row + k * size // 16
    return sixteens % 2**14 + 2**16 + 64 * 2**32 + 2**62
