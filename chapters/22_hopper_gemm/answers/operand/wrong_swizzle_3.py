# verdict: wrong-value
# The swizzle's number is 3, for 128 bytes.
def operand(start, row, k, size):
    """Return the descriptor of an operand in a tile with 128-byte rows."""
    address = start + 128 * row + size * k
    fields = (address & 0x3FFFF) // 16 | 1 << 16 | 1024 // 16 << 32
    return fields | 3 << 62
