# verdict: answer
# New dimensions come after the others.
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    result = [0 if size == 1 else step for size, step in zip(shape, strides)]
    return tuple(result + [0] * (len(target) - len(shape)))  # <- here
