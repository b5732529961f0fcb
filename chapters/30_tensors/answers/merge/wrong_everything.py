# verdict: answer
# Everything becomes one dimension, as reshape(-1) would make it.
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    return (math.prod(shape),), (1,)  # <- here
