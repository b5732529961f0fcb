# verdict: answer
# Keep the half that is a tile, not the one that a thread owns.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    divided = [layouts.logical_divide(m, Layout(n)) for m, n in zip(layout, threads)]
    inside = make_layout(*(within for within, _ in divided))
    start = sum(across(k) for (_, across), k in zip(divided, thread))
    return inside, start  # <- here
