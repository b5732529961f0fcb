# verdict: wrong-value
# Undo both maxima, add, and take the common one off again.
@cuda.jit(device=True)
def merge(m, s, m2, s2):
    """Return the maximum and sum of two pieces together from those of each."""
    top = max(m, m2)
    return top, (s * math.exp(m) + s2 * math.exp(m2)) / math.exp(top)


@cuda.jit
def merge_pairs(a, b, out):
    """Merge the pairs in the rows of a and b."""
    i = cuda.grid(1)

    if i < out.shape[0]:
        m, s = merge(a[i, 0], a[i, 1], b[i, 0], b[i, 1])
        out[i, 0] = m
        out[i, 1] = s
