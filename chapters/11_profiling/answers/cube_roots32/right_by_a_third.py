# verdict: pass
# Multiply by a third instead of dividing.
@cuda.jit
def cube_roots32(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        third = float32(1.0 / 3.0)
        y = float32(1)
        for _ in range(20):
            y = (y + y + x[i] / (y * y)) * third
        out[i] = y
