# verdict: wrong-value
# cuRAND's formula, which excludes 0 but not 1.
@cuda.jit
def uniform(words, out):
    """Turn random words into floats in [0, 1)."""
    i = cuda.grid(1)

    if i < words.size:
        out[i] = float32(words[i]) * float32(2**-32) + float32(2**-33)  # <- here
