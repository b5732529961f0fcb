# verdict: exception
# The particle starts at element 4 * i.
@cuda.jit
def to_columns(p, out):
    """Turn an array of structs p (n, 4) into columns out (4, n)."""
    i = cuda.grid(1)

    if i < p.shape[0]:
        x, y, z, m = load4(p, 4 * i)  # <- here
        out[0, i] = x
        out[1, i] = y
        out[2, i] = z
        out[3, i] = m
