# verdict: pass
# Numba also has a function for the difference.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    start, stop = cuda.event(), cuda.event()
    start.record()
    work()
    stop.record()
    stop.synchronize()
    return cuda.event_elapsed_time(start, stop)
