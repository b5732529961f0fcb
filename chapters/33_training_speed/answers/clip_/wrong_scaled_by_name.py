# verdict: wrong-value
# Scale in the loop; but the name is then that of a new tensor.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.stack([g.norm() for g in gradients]).norm()
    scale = (most / norm).clamp(max=1)
    for gradient in gradients:
        gradient = gradient * scale
    return norm
