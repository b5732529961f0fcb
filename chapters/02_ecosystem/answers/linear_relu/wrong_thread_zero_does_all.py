# verdict: loads
# One thread does it all, to be on the safe side.
@cuda.jit
def linear_relu(x, w, b, out):
    """Write relu(x @ w.T + b) into out, one thread per element of out."""
    i = cuda.grid(1)

    if i < out.size:
        row, col = i // out.shape[1], i % out.shape[1]
        if i == 0:
            for at in range(out.size):
                row, col = at // out.shape[1], at % out.shape[1]
                total = b[col]
                for k in range(x.shape[1]):
                    total += x[row, k] * w[col, k]  # <- here
                out[row, col] = max(total, float32(0))
