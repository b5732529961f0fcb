# verdict: out-of-bounds
# p.size is the number of particles.
@cuda.jit
def to_columns(p, out):
    """Turn an array of structs p (n, 4) into columns out (4, n)."""
    i = cuda.grid(1)

    if i < p.size:
        x, y, z, m = load4(p, (i, 0))  # <- here
        out[0, i] = x
        out[1, i] = y
        out[2, i] = z
        out[3, i] = m
