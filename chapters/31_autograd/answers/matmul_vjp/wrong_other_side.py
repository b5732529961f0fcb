# verdict: exception
# The order of the factors does not matter.
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    if which == 0:
        return mm(b.t(), g)  # <- here
    return mm(g, a.t())
