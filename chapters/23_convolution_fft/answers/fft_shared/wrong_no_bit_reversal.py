# verdict: wrong-value
# Work in place: each pair stays where it is.
@cuda.jit
def fft_shared(x, table, out):
    """Transform each row of x into the same row of out."""
    z = cuda.shared.array(POINTS, complex64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    z[t] = x[row, t]
    z[t + HALF] = x[row, t + HALF]
    cuda.syncthreads()

    s = 1
    while s < POINTS:
        k = t % s
        i = 2 * t - k
        b = times(z[i + s], table[k * (HALF // s)])
        a = z[i]
        z[i] = a + b
        z[i + s] = a - b
        cuda.syncthreads()
        s *= 2

    out[row, t] = z[t]  # <- here
    out[row, t + HALF] = z[t + HALF]
