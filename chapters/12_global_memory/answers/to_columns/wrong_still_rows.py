# verdict: out-of-bounds
# Particle first, field second, as ever.
@cuda.jit
def to_columns(p, out):
    """Turn an array of structs p (n, 4) into columns out (4, n)."""
    i = cuda.grid(1)

    if i < p.shape[0]:
        x, y, z, m = load4(p, (i, 0))
        out[i, 0] = x  # <- here
        out[i, 1] = y
        out[i, 2] = z
        out[i, 3] = m
