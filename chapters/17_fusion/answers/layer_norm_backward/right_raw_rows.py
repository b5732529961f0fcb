# verdict: pass
# Keep x as it was loaded, and normalise it later.
@cuda.jit
def layer_norm_backward(x, dy, gamma, mean, rstd, dx):
    """Write the gradient of LayerNorm's input into dx; one block per row."""
    xs = cuda.local.array(VALUES, float32)
    gs = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x
    mu, r = mean[row], rstd[row]

    sum_g = sum_gx = float32(0)
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four, back = load4(x, (row, col)), load4(dy, (row, col))
            weight = load4(gamma, col)
            for j in range(4):
                xs[4 * k + j], gs[4 * k + j] = four[j], back[j] * weight[j]

    for i in range(VALUES):
        if first + (i // 4) * width < cols:
            sum_g += gs[i]
            sum_gx += gs[i] * (xs[i] - mu)
    a = block_sum(sum_g, 1) / float32(cols)
    b = block_sum(sum_gx, 0) / float32(cols) * r * r

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            for j in range(4):
                gs[4 * k + j] -= a + (xs[4 * k + j] - mu) * b
            p, q = r * gs[4 * k], r * gs[4 * k + 1]
            s, t = r * gs[4 * k + 2], r * gs[4 * k + 3]
            store4(dx, (row, col), p, q, s, t)
