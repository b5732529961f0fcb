# verdict: pass
# Every thread adds, most of them 0.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(out, 0, int32(x[i] == wanted))
