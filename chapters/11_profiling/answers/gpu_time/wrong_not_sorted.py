# verdict: wrong-value
# The median is the one in the middle of the list.
def gpu_time(gpu):
    """Return the median of the GPU's times for 20 gpu.launch() calls, in ms."""
    gpu.launch()
    times = []
    for _ in range(20):
        start, end = gpu.event(), gpu.event()
        start.record()
        gpu.launch()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return times[9]  # <- here
