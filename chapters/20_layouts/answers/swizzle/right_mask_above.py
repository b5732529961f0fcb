# verdict: pass
# Mask the bits where they are, and then move them.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    mask = ((1 << bits) - 1) << (base + shift)
    return index ^ ((index & mask) >> shift)
