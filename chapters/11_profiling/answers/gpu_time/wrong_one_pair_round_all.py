# verdict: wrong-value
# One pair of events around all the launches, divided by 20.
def gpu_time(gpu):
    """Return the median of the GPU's times for 20 gpu.launch() calls, in ms."""
    start, end = gpu.event(), gpu.event()
    start.record()
    for _ in range(20):
        gpu.launch()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 20  # <- here
