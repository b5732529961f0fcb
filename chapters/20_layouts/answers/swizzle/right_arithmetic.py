# verdict: pass
# Divisions and remainders instead of shifts.
def swizzle(index, bits, base, shift):
    """Return where CuTe's Swizzle<bits, base, shift> moves an index."""

    taken = index // 2 ** (base + shift) % 2**bits
    return index ^ taken * 2**base
