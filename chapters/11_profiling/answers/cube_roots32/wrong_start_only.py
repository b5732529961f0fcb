# verdict: float64
# y is float32, so everything that follows is, too.
@cuda.jit
def cube_roots32(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        y = float32(1)
        for _ in range(20):
            y = (2.0 * y + x[i] / (y * y)) / 3.0  # <- here
        out[i] = y
