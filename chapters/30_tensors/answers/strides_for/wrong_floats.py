# verdict: answer
# Divide the number of elements, with a division that gives floats.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps.

    order: its dimensions, from the slowest to the fastest.
    """
    strides = [0] * len(shape)
    step = math.prod(shape)
    for dim in order:
        step = step / shape[dim]
        strides[dim] = step
    return tuple(strides)  # <- here
