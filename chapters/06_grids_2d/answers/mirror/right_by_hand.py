# verdict: pass
# Compute the indices by hand.
@cuda.jit
def mirror(x, m, n, out):
    """Write x into out with its columns in reverse; both column-major."""
    row = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    col = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y

    if row >= m or col >= n:
        return
    to = n - 1 - col
    out[to * m + row] = x[col * m + row]
