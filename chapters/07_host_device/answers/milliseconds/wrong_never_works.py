# verdict: wrong-value
# The function is named and not called.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work
    last.record()
    last.synchronize()
    return first.elapsed_time(last)
