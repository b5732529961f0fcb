# verdict: pass
# One remainder after another.
def source(row, col, x, y, taps, pad, stride, dilation):
    """Return where in x (NHWC) element (row, col) of A comes from, or -1."""
    channels, height, width = x[1:]
    j, row = row % y[3], row // y[3]
    i, image = row % y[2], row // y[2]
    channel, col = col % channels, col // channels
    b, a = col % taps[1], col // taps[1]
    i = i * stride[0] - pad[0] + a * dilation[0]
    j = j * stride[1] - pad[1] + b * dilation[1]
    if i < 0 or j < 0 or i >= height or j >= width:
        return -1
    steps = height * width * channels, width * channels, channels, 1
    return sum(s * v for s, v in zip(steps, (image, i, j, channel)))
