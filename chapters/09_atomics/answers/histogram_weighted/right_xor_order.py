# verdict: pass
# Each lane takes the copies in its own order, by xor.
@cuda.jit
def histogram_weighted(values, w, hist):
    counts = cuda.shared.array((BINS, COPIES), float32)
    t = cuda.threadIdx.x
    lane = t % COPIES
    rows = cuda.blockDim.x // COPIES
    for b in range(t // COPIES, BINS, rows):
        counts[b, lane] = float32(0.0)
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, (values[i], lane), w[i])
    cuda.syncthreads()
    for b in range(t, BINS, cuda.blockDim.x):
        total = counts[b, lane]
        for k in range(1, COPIES):
            total += counts[b, lane ^ k]
        cuda.atomic.add(hist, b, total)
