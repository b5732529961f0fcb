# verdict: wrong-value
# Take the lower bits and move them up.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""
    mask = ((1 << bits) - 1) << base
    return index ^ ((index & mask) << shift)  # <- here
