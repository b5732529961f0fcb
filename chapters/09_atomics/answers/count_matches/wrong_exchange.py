# verdict: wrong-value
# exch writes atomically, and that is what matters.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if i < x.size and x[i] == wanted:
        old = cuda.atomic.add(out, 0, 0)
        cuda.atomic.exch(out, 0, old + 1)  # <- here
