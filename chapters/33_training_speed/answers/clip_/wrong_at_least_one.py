# verdict: wrong-value
# Clamp the factor, but from the wrong side.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.stack([g.norm() for g in gradients]).norm()
    scale = (most / norm).clamp(min=1)
    for gradient in gradients:
        gradient.mul_(scale)
    return norm
