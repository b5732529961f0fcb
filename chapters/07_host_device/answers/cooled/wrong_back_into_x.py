# verdict: input-written
# x has the right shape, so there is room for the result.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(d_x)
    cool[blocks(x.size), THREADS](d_x, d_out, STEPS)
    d_out.copy_to_host(x)
    return x
