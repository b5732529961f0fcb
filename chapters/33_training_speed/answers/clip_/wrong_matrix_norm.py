# verdict: wrong-value
# Ask for the 2-norm; but that of a matrix is its largest singular value.
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    norm = torch.stack([torch.linalg.norm(each, 2) for each in gradients]).norm()
    factor = (most / norm).clamp(max=1)
    for each in gradients:
        each.mul_(factor)
    return norm
