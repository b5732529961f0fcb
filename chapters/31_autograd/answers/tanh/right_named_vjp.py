# verdict: pass
# The vjp has a name, and its kernel returns early.
@cuda.jit
def tanh_kernel(x, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = math.tanh(x[row, col])


@cuda.jit
def slope_kernel(g, y, out):
    j, i = cuda.grid(2)
    if i >= out.shape[0] or j >= out.shape[1]:
        return
    out[i, j] = g[i, j] - g[i, j] * y[i, j] * y[i, j]


def tanh(x):
    out = elementwise(tanh_kernel, x.data)

    def vjp(g):
        return elementwise(slope_kernel, g, out)

    return Tensor(out, [(x, vjp)])
