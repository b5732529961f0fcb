# verdict: wrong-value
# Cut off negative products one by one.
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        total = b[col]
        for k in range(x.shape[1]):
            total += max(x[row, k] * w[col, k], float32(0))
        out[row, col] = max(total, float32(0))  # <- here
