# verdict: answer
# Keep the dimensions of size 1, although their strides mean nothing.
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    sizes, steps = [], []
    for size, step in zip(shape, strides):
        if steps and steps[-1] == size * step:
            sizes[-1] *= size
            steps[-1] = step
        else:
            sizes.append(size)
            steps.append(step)
    return tuple(sizes), tuple(steps)  # <- here
