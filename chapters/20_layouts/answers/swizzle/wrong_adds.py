# verdict: wrong-value
# Add instead of XORing; but then there are carries.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    mask = (1 << bits) - 1
    return index + ((index >> (base + shift) & mask) << base)  # <- here
