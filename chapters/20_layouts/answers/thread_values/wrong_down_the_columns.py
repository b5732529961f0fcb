# verdict: answer
# Neighbouring threads go down a column.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    across = cols // width
    down = threads // across
    shape = ((down, across), (width, rows // down))
    return Layout(shape, ((1, width * rows), (rows, down)))  # <- here
