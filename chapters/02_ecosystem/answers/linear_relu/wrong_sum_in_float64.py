# verdict: float64
# A sum starts at 0.0.
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        total = 0.0
        for k in range(x.shape[1]):
            total += x[row, k] * w[col, k]  # <- here
        out[row, col] = max(total + b[col], float32(0))
