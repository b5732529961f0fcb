# verdict: out-of-bounds
# Each thread counts its own element.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if i < x.size and x[i] == wanted:
        cuda.atomic.add(out, i, 1)  # <- here
