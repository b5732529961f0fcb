# verdict: wrong-value
# Divide by the number of filter rows.
def source(row, col, x, y, taps, pad, stride, dilation):
    """Return where in x (NHWC) element (row, col) of A comes from, or -1."""
    (_, c, h, w), (_, _, p, q), (r, s) = x, y, taps
    image, pixel = divmod(row, p * q)
    i, j = divmod(pixel, q)
    tap, channel = divmod(col, c)
    a, b = divmod(tap, r)
    up = i * stride[0] + a * dilation[0] - pad[0]
    left = j * stride[1] + b * dilation[1] - pad[1]
    if not (0 <= up < h and 0 <= left < w):
        return -1
    return ((image * h + up) * w + left) * c + channel  # <- here
