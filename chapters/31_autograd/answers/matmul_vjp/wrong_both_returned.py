# verdict: shape
# Return a pair.
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    left = mm(g, b.t())
    return left, left  # <- here
