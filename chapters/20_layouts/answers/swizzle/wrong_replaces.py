# verdict: wrong-value
# Replace the low bits instead of XORing; but then two indices meet.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    mask = (1 << bits) - 1
    taken = index >> (base + shift) & mask
    return index & ~(mask << base) | taken << base  # <- here
