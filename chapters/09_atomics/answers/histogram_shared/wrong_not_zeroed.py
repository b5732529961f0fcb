# verdict: uninitialised
# A fresh array is zero.
@cuda.jit
def histogram_shared(x, out):
    """Count the values of x in shared memory, then add the counts to out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)  # <- here
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, b, counts[b])
