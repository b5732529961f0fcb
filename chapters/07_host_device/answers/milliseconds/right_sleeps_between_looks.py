# verdict: pass
# Sleep a little between queries.
def milliseconds(work):
    """Return how many milliseconds the GPU needs for what work() queues."""
    first, last = cuda.event(), cuda.event()
    first.record()
    work()
    last.record()
    while not last.query():
        time.sleep(0.001)
    return first.elapsed_time(last)
