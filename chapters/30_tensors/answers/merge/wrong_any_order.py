# verdict: answer
# Sort the dimensions by stride first; but this changes the order of the elements.
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    dims = sorted(zip(strides, shape), reverse=True)
    sizes, steps = [], []
    for step, size in dims:
        if size == 1:
            continue
        if steps and steps[-1] == size * step:
            sizes[-1] *= size
            steps[-1] = step
        else:
            sizes.append(size)
            steps.append(step)
    return tuple(sizes), tuple(steps)  # <- here
