# verdict: wrong-value
# The mass comes first in most files.
@cuda.jit
def to_columns(p, out):
    """Turn an array of structs p (n, 4) into columns out (4, n)."""
    i = cuda.grid(1)

    if i < p.shape[0]:
        m, x, y, z = load4(p, (i, 0))
        out[0, i] = x  # <- here
        out[1, i] = y
        out[2, i] = z
        out[3, i] = m
