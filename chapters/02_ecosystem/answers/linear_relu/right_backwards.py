# verdict: pass
# Add the products from last to first; the ReLU is a conditional expression.
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        total = b[col]
        k = x.shape[1] - 1
        while k >= 0:
            total += x[row, k] * w[col, k]
            k -= 1
        out[row, col] = total if total > 0 else float32(0)
