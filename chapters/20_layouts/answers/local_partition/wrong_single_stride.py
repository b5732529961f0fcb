# verdict: answer
# Multiply the first stride of each mode; but nested modes do not follow it.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    rows, cols = (mode.size // n for mode, n in zip(layout, threads))
    steps = layout(1, 0) * threads[0], layout(0, 1) * threads[1]
    return Layout((rows, cols), steps), layout(*thread)  # <- here
