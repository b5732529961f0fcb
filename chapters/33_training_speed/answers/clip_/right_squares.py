# verdict: pass
# A sum of squares, and a `where` for the decision.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    squares = [(gradient * gradient).sum() for gradient in gradients]
    norm = torch.stack(squares).sum().sqrt()
    factor = torch.where(norm > most, most / norm, 1.0)
    torch._foreach_mul_(gradients, factor)
    return norm
