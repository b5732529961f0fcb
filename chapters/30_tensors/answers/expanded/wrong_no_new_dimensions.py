# verdict: answer
# I forgot the dimensions that the shorter shape does not have.
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    return tuple(0 if size == 1 else s for size, s in zip(shape, strides))  # <- here
