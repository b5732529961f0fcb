# verdict: answer
# Merge pairs; what has been merged is not compared with the next dimension.
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    sizes, steps = [], []
    dim = 0
    while dim < len(shape):
        size, step = shape[dim], strides[dim]
        if dim + 1 < len(shape) and step == shape[dim + 1] * strides[dim + 1]:
            size, step = size * shape[dim + 1], strides[dim + 1]
            dim += 1
        sizes.append(size)
        steps.append(step)
        dim += 1
    return tuple(sizes), tuple(steps)  # <- here
