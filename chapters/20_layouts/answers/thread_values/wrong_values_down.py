# verdict: answer
# Put the values of a thread below each other.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    across = cols // width
    down = threads // across
    rounds = rows // down
    shape = ((across, down), (width, rounds))
    return Layout(shape, ((width * rows, width), (1, width * down)))  # <- here
