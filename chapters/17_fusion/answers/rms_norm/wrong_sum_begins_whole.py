# verdict: float64
# A sum starts at 0; but an integer and a float32 make a float64.
@cuda.jit
def rms_norm(x, weight, out, rstd):
    """Write the RMSNorm of each row of x into out; one block per row."""
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    total = 0
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            piece = load4(x, (row, col))
            for j in range(4):
                values[4 * k + j] = piece[j]
                total += piece[j] * piece[j]  # <- here
    mean = block_sum(total, 0) / float32(cols)
    r = float32(1) / math.sqrt(mean + EPS)
    if first == 0:
        rstd[row] = r

    for k in range(PIECES):
        i, col = 4 * k, first + k * width
        if col < cols:
            w = load4(weight, col)
            a, b = values[i] * r * w[0], values[i + 1] * r * w[1]
            c, d = values[i + 2] * r * w[2], values[i + 3] * r * w[3]
            store4(out, (row, col), a, b, c, d)
