# verdict: pass
# Order the elements row by row first, and compose with that.
def thread_values(rows, cols, threads, width):
    """Return the layout of a copy: (thread, value) -> number of the element."""

    by_rows = Layout((cols, rows), (rows, 1))
    rounds = rows * cols // (threads * width)
    order = Layout((threads, (width, rounds)), (width, (1, threads * width)))
    return layouts.composition(by_rows, order)
