# verdict: wrong-value
# A row is 64 bytes.
def operand(start, row, k, size):
    """Return the descriptor of an operand in a tile with 128-byte rows."""
    address = start + 64 * row + size * k
    fields = (address & 0x3FFFF) // 16 | 1 << 16 | 1024 // 16 << 32
    return fields | 1 << 62
