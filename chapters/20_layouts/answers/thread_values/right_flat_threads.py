# verdict: pass
# The number of rounds follows from the number of values.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    across = cols // width
    values = rows * cols // threads
    shape = ((across, threads // across), (width, values // width))
    return Layout(shape, ((width * rows, 1), (rows, threads // across)))
