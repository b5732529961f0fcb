# verdict: wrong-value
# Divide by the largest word.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = float32(words[i]) / float32(4294967295)  # <- here
