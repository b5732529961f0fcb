# verdict: exception
# Return the numbers.
@cuda.jit
def tanh_kernel(x, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = math.tanh(x[row, col])


@cuda.jit
def tanh_vjp_kernel(y, g, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = g[row, col] * (float32(1) - y[row, col] ** 2)


def tanh(x):
    return elementwise(tanh_kernel, x.data)
