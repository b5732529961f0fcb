# verdict: wrong-value
# Add up the norms, not their squares.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = sum(gradient.norm() for gradient in gradients)
    factor = (most / norm).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(factor)
    return norm
