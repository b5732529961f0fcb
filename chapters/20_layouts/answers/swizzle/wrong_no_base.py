# verdict: wrong-value
# Take the bits from `shift` on, without `base`.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    mask = (1 << bits) - 1
    return index ^ ((index >> shift & mask) << base)  # <- here
