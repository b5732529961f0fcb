# verdict: float64
# Round the result to float32.
@cuda.jit
def cube_roots32(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        y = float32(1)
        for _ in range(20):
            y = float32((2.0 * y + x[i] / (y * y)) / 3.0)  # <- here
        out[i] = y
