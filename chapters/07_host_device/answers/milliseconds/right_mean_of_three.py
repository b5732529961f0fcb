# verdict: pass
# Launch three times between two events, and divide by 3.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    for _ in range(3):
        work()
    last.record()
    cuda.synchronize()
    return first.elapsed_time(last) / 3
