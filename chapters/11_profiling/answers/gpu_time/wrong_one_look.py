# verdict: wrong-value
# A computer does the same thing in the same time.
def gpu_time(gpu):
    """Return the median of the GPU's times for 20 gpu.launch() calls, in ms."""
    start, end = gpu.event(), gpu.event()
    start.record()
    gpu.launch()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)  # <- here
