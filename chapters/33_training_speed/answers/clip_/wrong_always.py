# verdict: wrong-value
# Scale every time; but gradients that are short enough are then stretched.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.stack([g.norm() for g in gradients]).norm()
    for gradient in gradients:
        gradient.mul_(most / norm)
    return norm
