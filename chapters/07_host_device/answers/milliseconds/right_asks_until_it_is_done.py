# verdict: pass
# Query the event again and again.
def milliseconds(work):
    start, stop = cuda.event(), cuda.event()
    start.record()
    work()
    stop.record()
    while not stop.query():
        pass
    return start.elapsed_time(stop)
