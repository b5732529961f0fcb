# verdict: answer
# Multiply the sizes, and keep the stride of the left half.
def merge(shape, strides):
    """Merge neighbouring dimensions; return the new shape and strides."""
    sizes, steps = [], []
    end = None
    for size, step in zip(shape, strides):
        if size == 1:
            continue
        if end is not None and end == size * step:
            sizes[-1] *= size
        else:
            sizes.append(size)
            steps.append(step)
        end = step
    return tuple(sizes), tuple(steps)  # <- here
