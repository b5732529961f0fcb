# verdict: pass
# Add the bias after the loop, and use an if for the ReLU.
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        total = float32(0)
        for k in range(x.shape[1]):
            total += w[col, k] * x[row, k]
        total += b[col]
        if total < 0:
            total = float32(0)
        out[row, col] = total
