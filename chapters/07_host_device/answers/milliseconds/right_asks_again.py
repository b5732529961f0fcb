# verdict: pass
# Query the event until it has happened.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work()
    last.record()
    while not last.query():
        pass
    return first.elapsed_time(last)
