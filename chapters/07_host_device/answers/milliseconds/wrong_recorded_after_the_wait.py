# verdict: exception
# I have waited, so everything is over.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work()
    cuda.synchronize()
    last.record()
    return first.elapsed_time(last)  # <- here
