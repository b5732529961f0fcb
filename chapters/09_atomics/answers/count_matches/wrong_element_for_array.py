# verdict: type
# out[0] is to be changed, so the atomic gets out[0].
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if i < x.size and x[i] == wanted:
        cuda.atomic.add(out[0], 0, 1)  # <- here
