# verdict: answer
# Multiply by the size of the left dimension instead of the right one.
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    sizes, steps = [], []
    for size, step in zip(shape, strides):
        if size == 1:
            continue
        if steps and steps[-1] == sizes[-1] * step:
            sizes[-1] *= size
            steps[-1] = step
        else:
            sizes.append(size)
            steps.append(step)
    return tuple(sizes), tuple(steps)  # <- here
