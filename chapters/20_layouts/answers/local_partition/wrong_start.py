# verdict: answer
# Add the coordinates themselves, without the strides.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    divided = [layouts.logical_divide(m, Layout(n)) for m, n in zip(layout, threads)]
    owned = make_layout(*(across for _, across in divided))
    return owned, sum(thread)  # <- here
