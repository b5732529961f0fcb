# verdict: pass
# The last pass goes from shared memory straight to out.
@cuda.jit
def fft_shared(x, table, out):
    z = cuda.shared.array(POINTS, complex64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    z[t] = x[row, t]
    z[t + HALF] = x[row, t + HALF]
    cuda.syncthreads()
    s = 1
    while s < HALF:
        k = t % s
        a = z[t]
        b = z[t + HALF] * table[k * (HALF // s)]
        cuda.syncthreads()
        z[2 * t - k] = a + b
        z[2 * t - k + s] = a - b
        cuda.syncthreads()
        s <<= 1
    a, b = z[t], times(z[t + HALF], table[t])
    out[row, t] = a + b
    out[row, t + HALF] = a - b
