# verdict: race
# Read the count, then store one more.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if i < x.size and x[i] == wanted:
        count = out[0]  # <- here
        out[0] = count + 1  # <- here
