# verdict: synchronisation
# The starter: it reads one number per gradient.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    total = 0.0
    for gradient in gradients:
        total += gradient.norm().item() ** 2  # <- here
    norm = total**0.5
    if norm > most:
        for gradient in gradients:
            gradient.mul_(most / norm)
    return torch.tensor(norm)
