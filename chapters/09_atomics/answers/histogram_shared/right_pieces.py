# verdict: pass
# Each block takes a piece of x.
@cuda.jit
def histogram_shared(x, out):
    """Count the values of x in shared memory, then add the counts to out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x

    for b in range(t, BINS, cuda.blockDim.x):
        counts[b] = 0
    cuda.syncthreads()

    piece = (x.size + cuda.gridDim.x - 1) // cuda.gridDim.x
    start = cuda.blockIdx.x * piece
    end = min(start + piece, x.size)
    for i in range(start + t, end, cuda.blockDim.x):
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, b, counts[b])
