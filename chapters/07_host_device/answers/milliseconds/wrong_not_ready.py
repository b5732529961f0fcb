# verdict: exception
# The end is recorded, so it is known.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work()
    last.record()
    return first.elapsed_time(last)  # <- here
