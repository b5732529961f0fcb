# verdict: pass
# A thread clears all copies of its bins; each lane starts at a different copy.
@cuda.jit
def histogram_weighted(x, weights, out):
    """Add each weight to the bin of its x, in the lane's own copy."""
    counts = cuda.shared.array((BINS, COPIES), float32)
    t = cuda.threadIdx.x
    lane = t % COPIES

    for b in range(t, BINS, cuda.blockDim.x):
        for k in range(COPIES):
            counts[b, (k + t) % COPIES] = float32(0)
    cuda.syncthreads()

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, (x[i], lane), weights[i])
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        total = float32(0)
        for k in range(COPIES):
            total += counts[b, (k + t) % COPIES]
        cuda.atomic.add(out, b, total)
