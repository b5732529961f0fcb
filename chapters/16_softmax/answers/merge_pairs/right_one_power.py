# verdict: pass
# One of the powers is 1, so compute only the other.
@cuda.jit(device=True)
def merge(m, s, m2, s2):
    """Return the maximum and sum of two pieces together from those of each."""
    if m2 > m:
        return m2, s * math.exp(m - m2) + s2
    return m, s + s2 * math.exp(m2 - m)

@cuda.jit
def merge_pairs(a, b, out):
    """Merge the pairs in the rows of a and b."""
    i = cuda.grid(1)

    if i < out.shape[0]:
        m, s = merge(a[i, 0], a[i, 1], b[i, 0], b[i, 1])
        out[i, 0] = m
        out[i, 1] = s
