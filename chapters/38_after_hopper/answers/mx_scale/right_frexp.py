# verdict: pass
# Use frexp, with all constants in one number.
def mx_scale(block):
    """Return the e8m0 byte, 0 to 254, of the scale of a block of 32 numbers."""

    most = max(map(abs, block))
    return max(math.frexp(most)[1] + 118, 0) if most else 0
