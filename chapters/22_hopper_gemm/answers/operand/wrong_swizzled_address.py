# verdict: wrong-value
# The address is swizzled.
def operand(start, row, k, size):
    """Return the descriptor of an operand in a tile with 128-byte rows."""
    address = start + 128 * row + (size * k ^ row // 8 % 8 * 16)
    fields = (address & 0x3FFFF) // 16 | 1 << 16 | 1024 // 16 << 32
    return fields | 1 << 62
