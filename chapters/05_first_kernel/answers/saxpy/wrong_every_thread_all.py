# verdict: wrong-value
# A loop over the elements, as on the CPU.
@cuda.jit
def saxpy(alpha, x, y):
    """Add alpha * x to y in place, whatever the number of threads."""
    for i in range(x.size):
        y[i] += alpha * x[i]  # <- here
