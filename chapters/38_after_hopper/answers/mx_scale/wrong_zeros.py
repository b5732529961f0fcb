# verdict: exception
# Take the logarithm, even for a block of zeros.
def mx_scale(block):
    """Return the e8m0 byte, 0 to 254, of the scale of a block of 32 numbers."""

    most = max(abs(x) for x in block)
    return max(math.floor(math.log2(most)) - 8, -127) + 127  # <- here
