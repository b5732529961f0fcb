# verdict: answer
# Use the thread's coordinate as (column, row).
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    divided = [layouts.logical_divide(m, Layout(n)) for m, n in zip(layout, threads)]
    owned = make_layout(*(across for _, across in divided))
    start = sum(within(k) for (within, _), k in zip(divided, thread[::-1]))
    return owned, start  # <- here
