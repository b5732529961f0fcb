# verdict: pass
# Sleep for a while, and wait in the end.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work()
    last.record()
    time.sleep(0.1)
    last.synchronize()
    return first.elapsed_time(last)
