# verdict: pass
# cuda.grid gives the index, and the guard tests the mirrored one.
@cuda.jit
def reverse(x, out):
    """Write x into out, last element first."""
    i = cuda.grid(1)
    j = x.size - 1 - i

    if j >= 0:
        out[j] = x[i]
