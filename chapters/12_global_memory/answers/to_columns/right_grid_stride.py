# verdict: pass
# A grid-stride loop.
@cuda.jit
def to_columns(p, out):
    """Turn an array of structs p (n, 4) into columns out (4, n)."""
    i = cuda.grid(1)

    for k in range(i, p.shape[0], cuda.gridsize(1)):
        x, y, z, m = load4(p, (k, 0))
        out[0, k], out[1, k], out[2, k], out[3, k] = x, y, z, m
