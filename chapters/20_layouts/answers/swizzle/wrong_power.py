# verdict: wrong-value
# Reads ^ as a power and writes a multiplication.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    mask = 2**bits - 1
    return index * (index >> (base + shift) & mask) << base  # <- here
