# verdict: wrong-value
# 24 bits, so shift by 24.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = float32(words[i] >> uint32(24)) * float32(2**-24)
