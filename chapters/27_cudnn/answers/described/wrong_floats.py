# verdict: answer
# Divide with a slash.
def described(x, w, pad, stride, dilation):
    """Return the shape and the NHWC strides of a convolution's result."""
    p, q = (
        (x[2 + i] + 2 * pad[i] - dilation[i] * (w[2 + i] - 1) - 1) / stride[i]
        + 1
        for i in range(2)
    )
    k = w[0]
    return (x[0], k, p, q), (p * q * k, 1, q * k, k)  # <- here
