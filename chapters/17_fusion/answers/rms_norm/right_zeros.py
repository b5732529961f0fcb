# verdict: pass
# Missing columns are 0, so the sum needs no condition.
@cuda.jit
def rms_norm(x, weight, out, rstd):
    """Write the RMSNorm of each row of x into out; one block per row."""
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four = load4(x, (row, col))
            for j in range(4):
                values[4 * k + j] = four[j]
        else:
            for j in range(4):
                values[4 * k + j] = float32(0)

    total = float32(0)
    for i in range(VALUES):
        total += values[i] * values[i]
    total = block_sum(total, 1)
    scale = math.sqrt(float32(cols) / (total + EPS * float32(cols)))
    if cuda.threadIdx.x == 7:
        rstd[row] = scale

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            for j in range(4):
                values[4 * k + j] *= scale
            w = load4(weight, col)
            i = 4 * k
            a, b = values[i] * w[0], values[i + 1] * w[1]
            c, d = values[i + 2] * w[2], values[i + 3] * w[3]
            store4(out, (row, col), a, b, c, d)
