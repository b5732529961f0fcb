# verdict: narrow
# The words are viewed as bytes again, and loaded one by one.
@cuda.jit
def histogram_words(words, out):
    """Count the bytes of the words, four in each, into out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    pixels = words.view(np.uint8)

    for b in range(t, BINS, cuda.blockDim.x):
        counts[b] = 0
    cuda.syncthreads()

    for i in range(cuda.grid(1), pixels.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, pixels[i], 1)  # <- here
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, b, counts[b])
