# verdict: wrong-value
# A computer does the same thing in the same time.
def gpu_time(gpu):
    """Return the median ms that the GPU needs for gpu.launch(), of 20."""
    start, end = gpu.event(), gpu.event()
    start.record()
    gpu.launch()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)  # <- here
