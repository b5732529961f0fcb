# verdict: answer
# Shrink the shape, and keep the strides of the matrix.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    rows, cols = (mode.size // n for mode, n in zip(layout, threads))
    owned = Layout((rows, cols), (layout(1, 0), layout(0, 1)))
    return owned, layout(*thread)  # <- here
