# verdict: pass
# Divide both modes at once, and slice.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    divided = layouts.zipped_divide(layout, *map(Layout, threads))
    return divided[1], divided(tuple(thread), 0)
