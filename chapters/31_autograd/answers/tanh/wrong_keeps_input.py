# verdict: wrong-value
# The vjp computes tanh again, from x.
@cuda.jit
def tanh_kernel(x, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = math.tanh(x[row, col])


@cuda.jit
def tanh_vjp_kernel(x, g, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = g[row, col] * (float32(1) - math.tanh(x[row, col]) ** 2)


def tanh(x):
    y = elementwise(tanh_kernel, x.data)
    return Tensor(y, [(x, lambda g: elementwise(tanh_vjp_kernel, x.data, g))])
