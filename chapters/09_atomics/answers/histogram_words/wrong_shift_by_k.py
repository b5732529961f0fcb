# verdict: wrong-value
# Pixel k is k bits further on.
@cuda.jit
def histogram_words(words, out):
    """Count the bytes of the words, four in each, into out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x

    for b in range(t, BINS, cuda.blockDim.x):
        counts[b] = 0
    cuda.syncthreads()

    for i in range(cuda.grid(1), words.size, cuda.gridsize(1)):
        word = words[i]
        for k in range(4):
            cuda.atomic.add(counts, (word >> k) & 255, 1)
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, b, counts[b])  # <- here
