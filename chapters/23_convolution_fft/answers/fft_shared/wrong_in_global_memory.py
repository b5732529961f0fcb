# verdict: loads
# out is as good as z.
@cuda.jit
def fft_shared(x, table, out):
    """Transform each row of x into the same row of out."""
    z = cuda.shared.array(POINTS, complex64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    z[t] = x[row, t]
    z[t + HALF] = x[row, t + HALF]
    cuda.syncthreads()

    out[row, t] = z[t]
    out[row, t + HALF] = z[t + HALF]
    cuda.syncthreads()
    s = 1
    while s < POINTS:
        k = t % s
        a = out[row, t]  # <- here
        b = times(out[row, t + HALF], table[k * (HALF // s)])
        cuda.syncthreads()
        out[row, 2 * t - k] = a + b
        out[row, 2 * t - k + s] = a - b
        cuda.syncthreads()
        s *= 2
