# verdict: unwritten
# One block, whatever the size.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(d_x)
    cool[1, THREADS](d_x, d_out, STEPS)
    return d_out.copy_to_host()
