# verdict: answer
# List the strides from the slowest dimension to the fastest.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps.

    order: its dimensions, from the slowest to the fastest.
    """
    strides = []
    step = 1
    for dim in reversed(order):
        strides.insert(0, step)
        step *= shape[dim]
    return tuple(strides)  # <- here
