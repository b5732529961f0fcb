# verdict: answer
# Divide both modes by the threads along the rows.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    divided = [layouts.logical_divide(mode, Layout(threads[0])) for mode in layout]
    owned = make_layout(*(across for _, across in divided))
    start = sum(within(k) for (within, _), k in zip(divided, thread))
    return owned, start  # <- here
