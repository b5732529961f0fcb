# verdict: wrong-value
# Use all 32 bits, in the obvious formula.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = float32(words[i]) * float32(2**-32)  # <- here
