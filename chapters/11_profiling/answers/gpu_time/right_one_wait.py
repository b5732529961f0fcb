# verdict: pass
# Queue everything, wait once, read all the pairs.
def gpu_time(gpu):
    """Return the median of the GPU's times for 20 gpu.launch() calls, in ms."""
    gpu.launch()
    pairs = []
    for _ in range(20):
        pairs.append((gpu.event(), gpu.event()))
        pairs[-1][0].record()
        gpu.launch()
        pairs[-1][1].record()
    pairs[-1][1].synchronize()
    return float(np.median([a.elapsed_time(b) for a, b in pairs]))
