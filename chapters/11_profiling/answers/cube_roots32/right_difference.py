# verdict: pass
# Write the same step as a correction of y.
@cuda.jit
def cube_roots32(x, out):
    """Write the cube root of each x, by 20 steps of Newton's method."""
    i = cuda.grid(1)

    if i < x.size:
        a = x[i]
        y = a
        for _ in range(20):
            y -= (y - a / (y * y)) / float32(3)
        out[i] = y
