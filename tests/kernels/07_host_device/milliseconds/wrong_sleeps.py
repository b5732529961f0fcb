# verdict: exception
# By then it will be over.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work()
    last.record()
    time.sleep(0.1)
    return first.elapsed_time(last)  # <- here
