# verdict: clock
# The time of the last, less that of the first.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work()
    last.record()
    last.synchronize()
    return last.elapsed_time(first)
