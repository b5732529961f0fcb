# verdict: answer
# Remove the nesting, and merge nothing.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    sizes, strides = zip(*modes(layout))
    return Layout(sizes, strides)  # <- here
