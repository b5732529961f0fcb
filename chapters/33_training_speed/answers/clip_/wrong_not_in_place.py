# verdict: wrong-value
# Make new tensors of the scaled gradients, which no one sees.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    factor = (most / norm).clamp(max=1)
    gradients = [gradient * factor for gradient in gradients]
    return norm
