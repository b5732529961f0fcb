# verdict: wrong-value
# To name the function is to run it.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work
    last.record()
    last.synchronize()
    return first.elapsed_time(last)
