# verdict: answer
# The strides are those of a row-major tensor of the target's shape.
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    result, step = [], 1
    for size in reversed(target):
        result.insert(0, step)
        step *= size
    return tuple(result)  # <- here
