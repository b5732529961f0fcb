# verdict: pass
# Channels first, the bias at the end.
@cuda.jit
def conv_bias(x, w, b, y):
    """Convolve, with a frame of zeros, and add the bias."""
    at = cuda.grid(1)

    if at < y.size:
        f = at % y.shape[3]
        pixel = at // y.shape[3]
        j = pixel % y.shape[2]
        i = pixel // y.shape[2] % y.shape[1]
        n = pixel // y.shape[2] // y.shape[1]
        total = float32(0)
        for p in range(3):
            for q in range(3):
                row, col = i + p - 1, j + q - 1
                if 0 <= row < x.shape[1] and 0 <= col < x.shape[2]:
                    for c in range(x.shape[3]):
                        total += x[n, row, col, c] * w[f, p, q, c]
        y[n, i, j, f] = total + b[f]
