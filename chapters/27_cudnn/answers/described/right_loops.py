# verdict: pass
# Count the places where the filter fits.
def described(x, w, pad, stride, dilation):
    """Return the shape and the NHWC strides of a convolution's result."""
    sides = []
    for i in (0, 1):
        reach = dilation[i] * (w[2 + i] - 1)
        size = x[2 + i] + 2 * pad[i]
        sides.append(len(range(0, size - reach, stride[i])))
    pixel = w[0]
    row = pixel * sides[1]
    return (x[0], w[0], *sides), (row * sides[0], 1, row, pixel)
