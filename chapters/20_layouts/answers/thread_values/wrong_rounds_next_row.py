# verdict: answer
# Start the next round one row below, where the first has been.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    across = cols // width
    down = threads // across
    shape = ((across, down), (width, rows // down))
    return Layout(shape, ((width * rows, 1), (rows, 1)))  # <- here
