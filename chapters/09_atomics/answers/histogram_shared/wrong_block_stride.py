# verdict: wrong-value
# The threads of the block go through x together.
@cuda.jit
def histogram_shared(x, out):
    """Count the values of x in shared memory, then add the counts to out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x

    for b in range(t, BINS, cuda.blockDim.x):
        counts[b] = 0
    cuda.syncthreads()

    for i in range(t, x.size, cuda.blockDim.x):
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, b, counts[b])  # <- here
