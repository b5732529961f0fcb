# verdict: wrong-value
# Uses the number of bits as the mask.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    return index ^ ((index >> (base + shift) & bits) << base)  # <- here
