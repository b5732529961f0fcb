# verdict: race
# All threads have r.
@cuda.jit
def rms_norm(x, weight, out, rstd):
    """Write the RMSNorm of each row of x into out; one block per row."""
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    squares = float32(0)
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            four = load4(x, (row, col))
            for j in range(4):
                values[4 * k + j] = four[j]
                squares += four[j] * four[j]

    mean = block_sum(squares, 0) / float32(cols)
    r = float32(1) / math.sqrt(mean + EPS)
    rstd[row] = r  # <- here

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            w = load4(weight, col)
            a, b = values[4 * k] * r * w[0], values[4 * k + 1] * r * w[1]
            c, d = values[4 * k + 2] * r * w[2], values[4 * k + 3] * r * w[3]
            store4(out, (row, col), a, b, c, d)
