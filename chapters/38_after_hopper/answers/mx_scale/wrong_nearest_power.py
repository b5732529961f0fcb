# verdict: wrong-value
# Round the exponent to the nearest integer.
def mx_scale(block):
    """Return the e8m0 byte, 0 to 254, of the scale of a block of 32 numbers."""

    most = max(abs(x) for x in block)
    if most == 0:
        return 0
    return max(round(math.log2(most)) - 8, -127) + 127  # <- here
