# verdict: wrong-value
# Fewer steps are cheaper.
@cuda.jit
def cube_roots32(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        y = float32(1)
        for _ in range(2):
            y = (float32(2) * y + x[i] / (y * y)) / float32(3)
        out[i] = y  # <- here
