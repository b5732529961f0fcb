# verdict: library
# Let the course do it.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    return layouts.complement(layout, target)  # <- here
