# verdict: pass
# A pixel is a view of three values.
@cuda.jit
def grey(x, out):
    """Write the weighted sum of each pixel's three channels into out."""
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y

    if row < out.shape[0] and col < out.shape[1]:
        pixel = x[row, col]
        out[row, col] = RED * pixel[0] + GREEN * pixel[1] + BLUE * pixel[2]
