# verdict: wrong-value
# Shift, and multiply by 2^-32 all the same.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = float32(words[i] >> uint32(8)) * float32(2**-32)  # <- here
