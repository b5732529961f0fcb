# verdict: answer
# Make one mode of everything.
def coalesce(layout):
    """Return an equivalent layout with as few modes as possible."""

    return Layout(layout.size, 1)  # <- here
