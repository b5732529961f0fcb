# verdict: wrong-value
# Round the exponent up, so that nothing saturates.
def mx_scale(block):
    """Return the e8m0 byte, 0 to 254, of the scale of a block of 32 numbers."""

    most = max(abs(x) for x in block)
    if most == 0:
        return 0
    return max(math.ceil(math.log2(most / 448)), -127) + 127  # <- here
