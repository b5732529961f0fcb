# verdict: synchronisation
# One wait is left: asking whether to scale.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.stack([g.norm() for g in gradients]).norm()
    if norm > most:  # <- here
        for gradient in gradients:
            gradient.mul_(most / norm)
    return norm
