# verdict: local
# Use an index that counts along with the columns.
@cuda.jit
def layer_norm_backward(x, dy, gamma, mean, rstd, dx):
    """Write the gradient of LayerNorm's input into dx; one block per row."""
    xs = cuda.local.array(VALUES, float32)
    gs = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x
    mu, r = mean[row], rstd[row]

    i = 0
    sum_g, sum_gx = float32(0), float32(0)
    for col in range(first, cols, width):
        four, back = load4(x, (row, col)), load4(dy, (row, col))
        weight = load4(gamma, col)
        for j in range(4):
            xs[i] = (four[j] - mu) * r
            gs[i] = back[j] * weight[j]
            sum_g += gs[i]
            sum_gx += gs[i] * xs[i]
            i += 1

    a = block_sum(sum_g, 0) / float32(cols)
    b = block_sum(sum_gx, 1) / float32(cols)

    i = 0
    for col in range(first, cols, width):
        p = r * (gs[i] - a - xs[i] * b)
        q = r * (gs[i + 1] - a - xs[i + 1] * b)
        s = r * (gs[i + 2] - a - xs[i + 2] * b)
        t = r * (gs[i + 3] - a - xs[i + 3] * b)
        store4(dx, (row, col), p, q, s, t)
        i += 4
