# verdict: answer
# A dimension of size 1 gets stride 1.
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    missing = len(target) - len(shape)
    old = tuple(1 if size == 1 else s for size, s in zip(shape, strides))
    return (0,) * missing + old  # <- here
