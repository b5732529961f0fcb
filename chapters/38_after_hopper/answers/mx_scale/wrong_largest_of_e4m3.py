# verdict: wrong-value
# Divide by the largest number of e4m3 instead of its largest power of two.
def mx_scale(block):
    """Return the e8m0 byte, 0 to 254, of the scale of a block of 32 numbers."""

    most = max(abs(x) for x in block)
    if most == 0:
        return 0
    return max(math.floor(math.log2(most / 448)), -127) + 127  # <- here
