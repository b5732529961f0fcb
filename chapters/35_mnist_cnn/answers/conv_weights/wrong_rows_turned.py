# verdict: wrong-value
# Row p = 0 of the filter is below.
@cuda.jit
def conv_weights(x, dy, parts):
    """Write part k of the gradient: the sum over images k, k + slices, ..."""
    at, k = cuda.grid(1), cuda.blockIdx.y
    dw = parts[k]  # (f, 3, 3, c)

    if at < dw.size:
        c = at % dw.shape[3]
        rest = at // dw.shape[3]
        q = rest % 3
        p = rest // 3 % 3
        f = rest // 9
        total = float32(0)
        for n in range(k, x.shape[0], parts.shape[0]):
            for i in range(x.shape[1]):
                for j in range(x.shape[2]):
                    row, col = i - p + 1, j + q - 1
                    if 0 <= row < x.shape[1] and 0 <= col < x.shape[2]:
                        total += x[n, row, col, c] * dy[n, i, j, f]
        dw[f, p, q, c] = total
