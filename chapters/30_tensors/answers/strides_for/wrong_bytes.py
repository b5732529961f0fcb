# verdict: answer
# Count bytes, as NumPy does.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps.

    order: its dimensions, from the slowest to the fastest.
    """
    x = np.empty([shape[dim] for dim in order], np.float32)
    return x.transpose([order.index(d) for d in range(len(order))]).strides  # <- here
