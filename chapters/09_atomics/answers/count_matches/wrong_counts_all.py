# verdict: wrong-value
# There is a guard and an atomic; I forgot the comparison.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if i < x.size:
        cuda.atomic.add(out, 0, 1)  # <- here
