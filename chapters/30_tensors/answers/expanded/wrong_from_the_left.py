# verdict: answer
# Align the shapes at their left ends.
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    result = [0] * len(target)
    for dim in range(len(shape)):
        if shape[dim] == target[dim]:
            result[dim] = strides[dim]
    return tuple(result)  # <- here
