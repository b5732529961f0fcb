# verdict: library
# Ask PyTorch for the answer.
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    return torch.empty_strided(shape, strides).expand(target).stride()  # <- here
