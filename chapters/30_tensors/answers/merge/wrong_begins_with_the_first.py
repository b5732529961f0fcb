# verdict: answer
# Begin with the first dimension, whatever its size.
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    sizes, steps = [shape[0]], [strides[0]]
    for size, step in zip(shape[1:], strides[1:]):
        if steps[-1] == size * step:
            sizes[-1] *= size
            steps[-1] = step
        else:
            sizes.append(size)
            steps.append(step)
    return tuple(sizes), tuple(steps)  # <- here
