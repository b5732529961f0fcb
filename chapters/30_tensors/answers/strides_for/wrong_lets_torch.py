# verdict: library
# Asks PyTorch for the answer.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps."""
    x = torch.empty([shape[dim] for dim in order])  # <- here
    return x.permute([order.index(d) for d in range(len(order))]).stride()
