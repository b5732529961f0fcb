# verdict: wrong-value
# Make the shapes fit with reshape.
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    if which == 0:
        return mm(g, b.reshape(g.shape[1], -1))  # <- here
    return mm(a.reshape(-1, g.shape[0]), g)
