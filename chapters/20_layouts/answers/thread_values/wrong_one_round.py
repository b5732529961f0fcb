# verdict: answer
# I forgot that each thread copies more than one group.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    across = cols // width
    shape = ((across, threads // across), width)
    return Layout(shape, ((width * rows, 1), rows))  # <- here
