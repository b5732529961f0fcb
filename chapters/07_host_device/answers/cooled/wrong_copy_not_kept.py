# verdict: wrong-value
# copy_to_host() fills x.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(d_x)
    cool[blocks(x.size), THREADS](d_x, d_out, STEPS)
    d_out.copy_to_host()
    return x  # <- here
