# verdict: shape
# Return the gradient of the other factor.
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    if which == 1:
        return mm(g, b.t())
    return mm(a.t(), g)  # <- here
