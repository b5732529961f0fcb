# verdict: pass
# Clear the lower bits, and then multiply by 2^-32.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = float32(words[i] & uint32(0xFFFFFF00)) * float32(2**-32)
