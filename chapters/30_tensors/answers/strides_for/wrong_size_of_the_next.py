# verdict: answer
# One step passes the next faster dimension; I forgot those after it.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps.

    order: its dimensions, from the slowest to the fastest.
    """
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step = shape[dim]
    return tuple(strides)  # <- here
