# verdict: answer
# The target has at most one dimension more.
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    result = []
    for size, stride in zip(shape, strides):
        result.append(0 if size == 1 else stride)
    if len(shape) < len(target):
        result.insert(0, 0)
    return tuple(result)  # <- here
