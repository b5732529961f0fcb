# verdict: pass
# Compose each mode with the steps from block to block.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""

    parts = []
    for mode, many in zip(layout, threads):
        parts.append(layouts.composition(mode, Layout(mode.size // many, many)))
    return make_layout(*parts), layout(*thread)
