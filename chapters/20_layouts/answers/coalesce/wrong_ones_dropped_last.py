# verdict: answer
# Drop the modes of size 1 after merging; but until then they separate others.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    result = []
    for size, stride in modes(layout):
        if result and stride == result[-1][0] * result[-1][1]:
            result[-1] = (result[-1][0] * size, result[-1][1])
        else:
            result.append((size, stride))
    result = [(size, stride) for size, stride in result if size != 1]
    if not result:
        return Layout(1, 0)
    return Layout(*zip(*result))  # <- here
