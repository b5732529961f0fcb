# verdict: pass
# Numba has the difference as a function, too.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    start, stop = cuda.event(), cuda.event()
    start.record()
    work()
    stop.record()
    stop.synchronize()
    return cuda.event_elapsed_time(start, stop)
