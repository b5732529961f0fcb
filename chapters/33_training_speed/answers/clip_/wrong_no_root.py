# verdict: wrong-value
# Add up the squares, and forget the root.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = sum(g.square().sum() for g in gradients)
    scale = (most / norm).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(scale)
    return norm
