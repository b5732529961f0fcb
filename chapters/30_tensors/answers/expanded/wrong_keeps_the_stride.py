# verdict: answer
# Only new dimensions repeat; one of size 1 keeps its stride.
def expanded(shape, strides, target):
    """Return the strides of a view that is broadcast to the shape `target`."""
    missing = len(target) - len(shape)
    return (0,) * missing + tuple(strides)  # <- here
