# verdict: out-of-bounds
# w has a row for each input, as on paper.
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        total = b[col]
        for k in range(x.shape[1]):
            total += x[row, k] * w[k, col]  # <- here
        out[row, col] = max(total, float32(0))
