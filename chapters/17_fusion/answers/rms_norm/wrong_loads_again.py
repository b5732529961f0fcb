# verdict: loads
# The second loop reads the row once more.
@cuda.jit
def rms_norm(x, weight, out, rstd):
    """Write the RMSNorm of each row of x into out; one block per row."""
    values = cuda.local.array(VALUES, float32)
    row, first = cuda.blockIdx.x, 4 * cuda.threadIdx.x
    cols, width = x.shape[1], 4 * cuda.blockDim.x

    total = float32(0)
    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            p, q, s, t = load4(x, (row, col))
            total += p * p + q * q + s * s + t * t

    mean = block_sum(total, 0) / float32(cols)
    r = float32(1) / math.sqrt(mean + EPS)
    if first == 0:
        rstd[row] = r

    for k in range(PIECES):
        col = first + k * width
        if col < cols:
            w = load4(weight, col)
            p, q, s, t = load4(x, (row, col))
            p, q, s, t = p * r * w[0], q * r * w[1], s * r * w[2], t * r * w[3]
            store4(out, (row, col), p, q, s, t)
