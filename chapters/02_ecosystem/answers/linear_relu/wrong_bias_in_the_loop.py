# verdict: wrong-value
# The bias is added to each product.
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        total = float32(0)
        for k in range(x.shape[1]):
            total += x[row, k] * w[col, k] + b[col]
        out[row, col] = max(total, float32(0))  # <- here
