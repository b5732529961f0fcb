# verdict: out-of-bounds
# The comparison guards already.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if x[i] == wanted:  # <- here
        cuda.atomic.add(out, 0, 1)
