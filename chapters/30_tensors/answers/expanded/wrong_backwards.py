# verdict: answer
# Begin at the right, and append.
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    result = []
    for dim in range(1, len(target) + 1):
        if dim > len(shape) or shape[-dim] == 1:
            result.append(0)
        else:
            result.append(strides[-dim])
    return tuple(result)  # <- here
