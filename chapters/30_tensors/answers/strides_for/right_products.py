# verdict: pass
# The product of the sizes of all faster dimensions, computed anew each time.
def strides_for(shape, order):
    """Return the strides of a tensor without gaps.

    order: its dimensions, from the slowest to the fastest.
    """
    strides = []
    for dim in range(len(shape)):
        faster = order[order.index(dim) + 1 :]
        strides.append(math.prod(shape[other] for other in faster))
    return strides
