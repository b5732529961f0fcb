# verdict: answer
# Row-major, whatever the order says.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps.

    order: its dimensions, from the slowest to the fastest.
    """
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides))  # <- here
