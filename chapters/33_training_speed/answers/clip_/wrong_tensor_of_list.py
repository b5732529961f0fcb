# verdict: synchronisation
# Make a tensor of a list of tensors; but that reads each of them.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.tensor([g.norm() for g in gradients]).norm()  # <- here
    factor = (most / norm).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(factor)
    return norm
