# verdict: clock
# The launch is what takes the time, isn't it?
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3
