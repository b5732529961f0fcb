# verdict: clock
# Both events are recorded before the kernel is queued.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    last.record()
    work()
    last.synchronize()
    return first.elapsed_time(last)
