# verdict: out-of-bounds
# Every thread has a word.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)
    out[i] = float32(words[i] >> uint32(8)) * float32(2**-24)  # <- here
