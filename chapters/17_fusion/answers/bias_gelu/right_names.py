# verdict: pass
# Each of the four sums has its own name, and the guard is reversed.
@cuda.jit
def bias_gelu(x, bias, out):
    """Write the GELU of x + bias into out, four columns per thread."""
    row, col = cuda.blockIdx.y, 4 * cuda.grid(1)

    if col >= out.shape[1]:
        return
    here = load4(x, (row, col))
    there = load4(bias, col)
    p = here[0] + there[0]
    q = here[1] + there[1]
    r = here[2] + there[2]
    s = here[3] + there[3]
    store4(out, (row, col), gelu(p), gelu(q), gelu(r), gelu(s))
