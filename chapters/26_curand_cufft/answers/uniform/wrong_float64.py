# verdict: float64
# Compute the product in double precision.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = (words[i] >> uint32(8)) * 2**-24  # <- here
