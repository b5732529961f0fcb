# verdict: answer
# All rounds of a thread are in adjacent rows.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    across = cols // width
    down = threads // across
    rounds = rows // down
    shape = ((across, down), (width, rounds))
    return Layout(shape, ((width * rows, rounds), (rows, 1)))  # <- here
