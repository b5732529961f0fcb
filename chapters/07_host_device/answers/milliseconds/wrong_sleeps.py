# verdict: exception
# A tenth of a second is more than any kernel takes.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work()
    last.record()
    time.sleep(0.1)
    return first.elapsed_time(last)  # <- here
