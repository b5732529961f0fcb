# verdict: answer
# Removes the nesting and merges nothing.
def coalesce(layout):
    """Return the same function with as few modes as possible."""

    sizes, strides = zip(*modes(layout))
    return Layout(sizes, strides)  # <- here
