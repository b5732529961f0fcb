# verdict: pass
# One bit after another.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    for bit in range(base, base + bits):
        index ^= (index >> (bit + shift) & 1) << bit
    return index
