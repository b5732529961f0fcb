# verdict: wrong-value
# Each butterfly reads a pair of neighbours.
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
        a = z[2 * t]
        b = times(z[2 * t + 1], table[k * (HALF // s)])
        cuda.syncthreads()

        z[2 * t - k] = a + b
        z[2 * t - k + s] = a - b
        cuda.syncthreads()
        s *= 2

    out[row, t] = z[t]
    out[row, t + HALF] = z[t + HALF]
