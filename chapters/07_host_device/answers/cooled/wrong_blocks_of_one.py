# verdict: launch
# A block for each element.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(d_x)
    cool[x.size, 1](d_x, d_out, STEPS)  # <- here
    return d_out.copy_to_host()
