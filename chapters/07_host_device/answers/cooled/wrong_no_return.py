# verdict: wrong-value
# The result is in x, so there is nothing to return.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(d_x)
    cool[blocks(x.size), THREADS](d_x, d_out, STEPS)
    x[:] = d_out.copy_to_host()
