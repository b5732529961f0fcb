# verdict: pass
# Make the transposes contiguous first: needless, but right.
def matmul_vjp(g, a, b, which):
    """Return the gradient of a (which = 0) or of b (which = 1) in a @ b."""
    if which == 1:
        return mm(a.t().contiguous(), g)
    return mm(g, b.t().contiguous())
