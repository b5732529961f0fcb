# verdict: uninitialised
# out is as good a place for the sum as any.
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        for k in range(x.shape[1]):
            out[row, col] += x[row, k] * w[col, k]  # <- here
        out[row, col] = max(out[row, col] + b[col], float32(0))
