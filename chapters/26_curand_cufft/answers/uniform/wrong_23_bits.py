# verdict: wrong-value
# Use as many bits as a float32 stores: 23.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = float32(words[i] >> uint32(9)) * float32(2**-23)  # <- here
