# verdict: pass
# Transpose a product, in both cases.
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    return mm(b, g.t()).t() if which == 0 else mm(g.t(), a).t()
