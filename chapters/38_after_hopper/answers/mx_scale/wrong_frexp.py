# verdict: wrong-value
# Use the exponent of frexp; but its mantissa is below 1.
def mx_scale(block):
    """Return the e8m0 byte, 0 to 254, of the scale of a block of 32 numbers."""

    most = max(abs(x) for x in block)
    if most == 0:
        return 0
    _, exponent = math.frexp(most)
    return max(exponent - 8 + 127, 0)  # <- here
