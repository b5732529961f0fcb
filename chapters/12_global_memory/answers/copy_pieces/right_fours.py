# verdict: pass
# Two wide loads per thread: more sectors per request, none of them wasted.
@cuda.jit
def copy_pieces(x, out):
    """Copy x into out, PIECE elements per thread."""
    start = cuda.blockIdx.x * cuda.blockDim.x * PIECE + 4 * cuda.threadIdx.x

    for k in range(PIECE // 4):
        i = start + k * 4 * cuda.blockDim.x
        if i + 3 < x.size:
            a, b, c, d = load4(x, i)
            store4(out, i, a, b, c, d)
        else:
            for j in range(i, x.size):
                out[j] = x[j]
