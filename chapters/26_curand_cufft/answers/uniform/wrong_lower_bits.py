# verdict: wrong-value
# Use the lower 24 bits.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = float32(words[i] & uint32(0xFFFFFF)) * float32(2**-24)  # <- here
