# verdict: race
# An atomic returns a value, which has to be kept somewhere.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if i < x.size and x[i] == wanted:
        out[0] = cuda.atomic.add(out, 0, 1)  # <- here
