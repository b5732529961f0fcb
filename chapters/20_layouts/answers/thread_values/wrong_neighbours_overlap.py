# verdict: answer
# The next thread starts one element further; but then groups overlap.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    across = cols // width
    down = threads // across
    shape = ((across, down), (width, rows // down))
    return Layout(shape, ((rows, 1), (rows, down)))  # <- here
