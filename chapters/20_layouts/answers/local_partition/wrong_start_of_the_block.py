# verdict: answer
# Keep the right half, but start at a block, not at the thread.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    divided = [layouts.logical_divide(m, Layout(n)) for m, n in zip(layout, threads)]
    owned = make_layout(*(across for _, across in divided))
    start = sum(across(k) for (_, across), k in zip(divided, thread))
    return owned, start  # <- here
