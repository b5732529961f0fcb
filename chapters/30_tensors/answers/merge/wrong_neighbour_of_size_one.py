# verdict: answer
# Compare with the dimension before, even if its size is 1.
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    sizes, steps = [], []
    for dim in range(len(shape)):
        size, step = shape[dim], strides[dim]
        if size == 1:
            continue
        if sizes and strides[dim - 1] == size * step:
            sizes[-1] *= size
            steps[-1] = step
        else:
            sizes.append(size)
            steps.append(step)
    return tuple(sizes), tuple(steps)  # <- here
