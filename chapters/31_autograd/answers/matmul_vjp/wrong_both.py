# verdict: exception
# Compute both, and return one.
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    gradients = mm(g, b.t()), mm(a.t(), g)
    return gradients[which]
