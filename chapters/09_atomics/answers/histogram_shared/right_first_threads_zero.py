# verdict: pass
# Thread 0 clears everything; slow, but right.
@cuda.jit
def histogram_shared(x, out):
    """Count the values of x in shared memory, then add the counts to out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x

    if t == 0:
        for b in range(BINS):
            counts[b] = 0
    cuda.syncthreads()

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        if counts[b] > 0:
            cuda.atomic.add(out, b, counts[b])
