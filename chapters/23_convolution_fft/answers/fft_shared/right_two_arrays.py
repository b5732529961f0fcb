# verdict: pass
# Two arrays, one barrier per pass, and the last pass goes to out.
@cuda.jit
def fft_shared(x, table, out):
    """Transform each row of x into the same row of out."""
    here = cuda.shared.array(POINTS, complex64)
    there = cuda.shared.array(POINTS, complex64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    here[t] = x[row, t]
    here[t + HALF] = x[row, t + HALF]
    cuda.syncthreads()

    for level in range(9):
        s = 1 << level
        k = t & (s - 1)
        w = table[k << (9 - level)]
        if level % 2 == 0:
            a, b = here[t], times(here[t + HALF], w)
            there[2 * t - k], there[2 * t - k + s] = a + b, a - b
        else:
            a, b = there[t], times(there[t + HALF], w)
            here[2 * t - k], here[2 * t - k + s] = a + b, a - b
        cuda.syncthreads()
    a, b = there[t], times(there[t + HALF], table[t])
    out[row, t], out[row, t + HALF] = a + b, a - b
