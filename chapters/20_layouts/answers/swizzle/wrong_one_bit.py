# verdict: wrong-value
# A minus binds tighter than a shift: the mask has one bit.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""
    mask = (1 << bits - 1) << (base + shift)
    return index ^ ((index & mask) >> shift)  # <- here
