# verdict: answer
# Divides the number of elements, with a division that gives floats.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps."""
    strides = [0] * len(shape)
    step = math.prod(shape)
    for dim in order:
        step = step / shape[dim]
        strides[dim] = step
    return tuple(strides)  # <- here
