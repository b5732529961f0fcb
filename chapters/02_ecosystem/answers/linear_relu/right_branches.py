# verdict: pass
# An if for the ReLU, which stores 0 as it is.
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        total = np.float32(0)
        for k in range(x.shape[1]):
            total += x[row, k] * w[col, k]
        total += b[col]
        if total > 0:
            out[row, col] = total
        else:
            out[row, col] = 0
