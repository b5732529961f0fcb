# verdict: traffic
# device_array(x.size) has room for as many elements as x.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)  # <- here
    d_out = cuda.device_array(x.size)
    cool[blocks(x.size), THREADS](d_x, d_out, STEPS)
    return d_out.copy_to_host()  # <- here
