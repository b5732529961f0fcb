# verdict: uninitialised
# The output comes first.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(d_x)
    cool[blocks(x.size), THREADS](d_out, d_x, STEPS)  # <- here
    return d_out.copy_to_host()
