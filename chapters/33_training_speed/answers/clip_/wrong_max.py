# verdict: synchronisation
# Use Python's `max`; but it compares, and so asks for a value.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.stack([g.norm() for g in gradients]).norm()
    factor = most / max(norm, torch.tensor(most))  # <- here
    for gradient in gradients:
        gradient.mul_(factor)
    return norm
