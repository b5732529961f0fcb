# verdict: wrong-value
# Move all higher bits, not only `bits` of them.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    return index ^ (index >> (base + shift) << base)  # <- here
