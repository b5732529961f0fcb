# verdict: atomics
# There are no bins in the block: each word takes four atomics on out.
@cuda.jit
def histogram_words(words, out):
    """Count the bytes of the words, four in each, into out."""
    for i in range(cuda.grid(1), words.size, cuda.gridsize(1)):
        word = words[i]
        for k in range(4):
            cuda.atomic.add(out, (word >> (8 * k)) & 255, 1)  # <- here
