# verdict: answer
# Return addresses in a row-major tile instead of numbers of coordinates.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    across = cols // width
    down = threads // across
    shape = ((across, down), (width, rows // down))
    return Layout(shape, ((width, cols), (1, down * cols)))  # <- here
