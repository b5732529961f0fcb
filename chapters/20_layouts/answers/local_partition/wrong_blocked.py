# verdict: answer
# Give each thread neighbouring elements: divide by how many it owns.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    owned = [mode.size // n for mode, n in zip(layout, threads)]
    divided = [layouts.logical_divide(m, Layout(n)) for m, n in zip(layout, owned)]
    part = make_layout(*(within for within, _ in divided))
    start = sum(across(k) for (_, across), k in zip(divided, thread))
    return part, start  # <- here
