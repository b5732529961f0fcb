# verdict: loads
# Each thread counts its bins, and reads every word.
@cuda.jit
def histogram_words(words, out):
    """Count the bytes of the words, four in each, into out."""
    for b in range(cuda.grid(1), BINS, cuda.gridsize(1)):
        count = 0
        for i in range(words.size):
            word = words[i]  # <- here
            for k in range(4):
                if (word >> (8 * k)) & 255 == b:
                    count += 1
        out[b] = count
