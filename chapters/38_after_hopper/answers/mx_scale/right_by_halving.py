# verdict: pass
# Look for the power of two, one step at a time.
def mx_scale(block):
    """Return the e8m0 byte, 0 to 254, of the scale of a block of 32 numbers."""

    most = max(map(abs, block))
    byte = 254
    while byte > 0 and 2.0 ** (byte - 127 + 8) > most:
        byte -= 1
    return byte
