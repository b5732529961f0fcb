# verdict: answer
# Compare with the stride of the merged dimension, and leave it as it was.
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    sizes, steps = [], []
    for size, step in zip(shape, strides):
        if size == 1:
            continue
        if sizes and steps[-1] == size * step:
            sizes[-1] *= size
        else:
            sizes.append(size)
            steps.append(step)
    return tuple(sizes), tuple(steps)  # <- here
