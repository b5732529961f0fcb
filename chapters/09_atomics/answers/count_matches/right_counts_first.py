# verdict: pass
# A grid-stride loop, then one atomic per thread.
@cuda.jit
def count_matches(x, wanted, out):
    """Count the elements of x that equal wanted, into out[0]."""
    i = cuda.grid(1)

    count = 0
    for k in range(i, x.size, cuda.gridsize(1)):
        if x[k] == wanted:
            count += 1
    if count > 0:
        cuda.atomic.add(out, 0, count)
