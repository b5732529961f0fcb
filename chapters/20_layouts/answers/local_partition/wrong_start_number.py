# verdict: answer
# Start at the thread's number in the block.
def local_partition(layout, threads, thread):
    """Return the layout of a thread's elements, and the index it starts at."""
    divided = [
        layouts.logical_divide(mode, Layout(size))
        for mode, size in zip(layout, threads, strict=True)
    ]
    mine = make_layout(*(across for _, across in divided))
    start = thread[0] + thread[1] * threads[0]
    return mine, start  # <- here
