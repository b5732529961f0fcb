# verdict: wrong-value
# Three is a whole number, so divide as for whole numbers.
@cuda.jit
def cube_roots32(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        y = float32(1)
        for _ in range(20):
            y = (float32(2) * y + x[i] / (y * y)) // float32(3)
        out[i] = y  # <- here
