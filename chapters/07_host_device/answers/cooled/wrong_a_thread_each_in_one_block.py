# verdict: launch
# A thread for each element; how they are grouped does not matter.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(x)
    cool[1, x.size](d_x, d_out, STEPS)  # <- here
    return d_out.copy_to_host()
