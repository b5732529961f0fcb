# verdict: loads
# Private bins, but each thread fills its own and reads every pixel of the block.
@cuda.jit
def histogram_shared(x, out):
    """Count the values of x in shared memory, then add the counts to out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x

    for b in range(t, BINS, cuda.blockDim.x):
        counts[b] = 0
        for i in range(cuda.blockIdx.x, x.size, cuda.gridDim.x):
            if x[i] == b:  # <- here
                counts[b] += 1
        cuda.atomic.add(out, b, counts[b])
