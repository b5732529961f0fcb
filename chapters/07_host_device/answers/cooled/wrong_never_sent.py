# verdict: uninitialised
# device_array_like(x) is x on the device.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.device_array_like(x)
    d_out = cuda.device_array_like(x)
    cool[blocks(x.size), THREADS](d_x, d_out, STEPS)  # <- here
    return d_out.copy_to_host()
