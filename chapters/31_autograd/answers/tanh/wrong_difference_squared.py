# verdict: wrong-value
# Square the difference, not y.
@cuda.jit
def tanh_kernel(x, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = math.tanh(x[row, col])


@cuda.jit
def tanh_vjp_kernel(g, y, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = g[row, col] * (float32(1) - y[row, col]) ** 2  # <- here


def tanh(x):
    y = elementwise(tanh_kernel, x.data)

    def vjp(g):
        return elementwise(tanh_vjp_kernel, g, y)

    return Tensor(y, [(x, vjp)])
