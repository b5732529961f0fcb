# verdict: answer
# Only repeats behind the end, and leaves the gaps.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    return Layout(target // layout.cosize, layout.cosize)  # <- here
