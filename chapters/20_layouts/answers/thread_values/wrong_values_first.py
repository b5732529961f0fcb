# verdict: answer
# Put the values in the first mode and the threads in the second.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    across = cols // width
    down = threads // across
    shape = ((width, rows // down), (across, down))
    return Layout(shape, ((rows, down), (width * rows, 1)))  # <- here
