# verdict: wrong-value
# Take the largest number instead of the largest magnitude.
def mx_scale(block):
    """Return the e8m0 byte, 0 to 254, of the scale of a block of 32 numbers."""

    most = max(block)
    if most <= 0:
        return 0
    return max(math.floor(math.log2(most)) - 8, -127) + 127  # <- here
