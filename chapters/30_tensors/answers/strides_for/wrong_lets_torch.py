# verdict: library
# Ask PyTorch for the answer.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps.

    order: its dimensions, from the slowest to the fastest.
    """
    x = torch.empty([shape[dim] for dim in order])  # <- here
    return x.permute([order.index(d) for d in range(len(order))]).stride()
