# verdict: wrong-value
# Clip each gradient by its own norm; but that changes the direction.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norms = torch.stack([gradient.norm() for gradient in gradients])
    for gradient, norm in zip(gradients, norms):
        gradient.mul_((most / norm).clamp(max=1))
    return norms.norm()
