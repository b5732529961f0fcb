# verdict: answer
# Only repeat after the end, and leave the gaps.
def complement(layout, target):
    """Return where the repetitions of a layout start, up to a target."""
    sizes, strides, reached = [], [], 1

    return Layout(target // layout.cosize, layout.cosize)  # <- here
