# verdict: float64
# The kernel as it was given computes the right roots.
@cuda.jit
def cube_roots32(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        y = 1.0
        for _ in range(20):
            y = (2.0 * y + x[i] / (y * y)) / 3.0  # <- here
        out[i] = y
