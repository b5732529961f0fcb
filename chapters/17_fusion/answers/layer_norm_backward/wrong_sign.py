# verdict: wrong-value
# The second term is added back.
@cuda.jit
def layer_norm_backward(x, dy, gamma, mean, rstd, dx):
    """Write the gradient of LayerNorm's input into dx; one block per row."""
    xs = cuda.local.array(VALUES, float32)
    gs = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x
    mu, r = mean[row], rstd[row]

    sum_g, sum_gx = float32(0), float32(0)
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            weight = load4(gamma, col)
            for j in range(4):
                xs[4 * k + j] = (four[j] - mu) * r
                gs[4 * k + j] = back[j] * weight[j]
                sum_g += gs[4 * k + j]
                sum_gx += gs[4 * k + j] * xs[4 * k + j]

    a = block_sum(sum_g, 0) / float32(cols)
    b = block_sum(sum_gx, 1) / float32(cols)

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            i = 4 * k
            p = r * (gs[i] - a + xs[i] * b)
            q = r * (gs[i + 1] - a + xs[i + 1] * b)
            s = r * (gs[i + 2] - a + xs[i + 2] * b)
            t = r * (gs[i + 3] - a + xs[i + 3] * b)
            store4(dx, (row, col), p, q, s, t)
