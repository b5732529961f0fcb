# verdict: wrong-value
# Return the norm that the gradients have at the end.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.stack([g.norm() for g in gradients]).norm()
    scale = (most / norm).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(scale)
    return norm.clamp(max=most)
