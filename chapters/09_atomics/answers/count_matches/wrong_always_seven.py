# verdict: wrong-value
# I compare with the value from the text, not with the argument.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if i < x.size and x[i] == 7:
        cuda.atomic.add(out, 0, 1)  # <- here
