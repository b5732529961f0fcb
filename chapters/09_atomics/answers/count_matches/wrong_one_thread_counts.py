# verdict: loads
# If only one thread counts, no update gets lost.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    if i == 0:
        for k in range(x.size):
            if x[k] == wanted:  # <- here
                out[0] += 1
