# verdict: wrong-value
# I took ^ for a power, and wrote a multiplication.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    mask = 2**bits - 1
    return index * (index >> (base + shift) & mask) << base  # <- here
