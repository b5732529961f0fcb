# verdict: answer
# Multiplies by a dimension's own size before it writes the stride down.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps."""
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        step *= shape[dim]
        strides[dim] = step
    return tuple(strides)  # <- here
