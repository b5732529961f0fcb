# verdict: wrong-value
# k counts numbers, as if they were bytes.
def operand(start, row, k, size):
    """Return the descriptor of an operand in a tile with 128-byte rows."""
    address = start + 128 * row + k
    fields = (address & 0x3FFFF) // 16 | 1 << 16 | 1024 // 16 << 32
    return fields | 1 << 62
