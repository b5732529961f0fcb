# verdict: answer
# Makes one mode of everything.
def coalesce(layout):
    """Return the same function with as few modes as possible."""

    return Layout(layout.size, 1)  # <- here
