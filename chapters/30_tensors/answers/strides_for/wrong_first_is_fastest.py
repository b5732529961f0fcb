# verdict: answer
# Takes the order to go from the fastest to the slowest.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps."""
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)  # <- here
