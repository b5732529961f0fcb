# verdict: exception
# Use PyTorch's own product.
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    return g @ b.t() if which == 0 else a.t() @ g
