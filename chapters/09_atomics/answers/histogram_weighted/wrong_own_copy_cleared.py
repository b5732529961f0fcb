# verdict: uninitialised
# A thread clears the copy of its lane.
@cuda.jit
def histogram_weighted(x, weights, out):
    """Add each weight to the bin of its x, in the lane's own copy."""
    counts = cuda.shared.array((BINS, COPIES), float32)
    t = cuda.threadIdx.x
    lane = t % COPIES

    for b in range(t, BINS, cuda.blockDim.x):
        counts[b, lane] = float32(0)
    cuda.syncthreads()

    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, (x[i], lane), weights[i])  # <- here
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        total = float32(0)
        for k in range(COPIES):
            total += counts[b, (k + t) % COPIES]
        cuda.atomic.add(out, b, total)
