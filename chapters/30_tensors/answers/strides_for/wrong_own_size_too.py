# verdict: answer
# Multiply by a dimension's own size before writing its stride down.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps.

    order: its dimensions, from the slowest to the fastest.
    """
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        step *= shape[dim]
        strides[dim] = step
    return tuple(strides)  # <- here
