# verdict: wrong-value
# The number of bits is the mask.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    return index ^ ((index >> (base + shift) & bits) << base)  # <- here
