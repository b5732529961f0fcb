# verdict: exception
# Use the product rule for numbers.
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    if which == 0:
        return mm(g, b)  # <- here
    return mm(a, g)
