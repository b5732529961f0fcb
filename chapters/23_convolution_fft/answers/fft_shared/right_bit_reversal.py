# verdict: pass
# Cooley and Tukey, in place, after a reversal of the bits.
@cuda.jit
def fft_shared(x, table, out):
    """Transform each row of x into the same row of out."""
    z = cuda.shared.array(POINTS, complex64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    z[t] = x[row, t]
    z[t + HALF] = x[row, t + HALF]
    cuda.syncthreads()

    low, high = z[t], z[t + HALF]
    place = 0
    for bit in range(9):
        place |= (t >> bit & 1) << 9 - bit
    cuda.syncthreads()
    z[place] = low
    z[place + 1] = high
    cuda.syncthreads()

    s = 1
    while s < POINTS:
        k = t % s
        i = 2 * t - k
        a, b = z[i], z[i + s] * table[k * (HALF // s)]
        z[i] = a + b
        z[i + s] = a - b
        cuda.syncthreads()
        s *= 2

    out[row, t] = z[t]
    out[row, t + HALF] = z[t + HALF]
