# verdict: wrong-value
# The mask is a power of two; the minus 1 is missing.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    return index ^ ((index >> (base + shift) & 1 << bits) << base)  # <- here
