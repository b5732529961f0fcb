# verdict: traffic
# Both arrays have to be on the device, so I send both.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)
    d_out = cuda.to_device(np.zeros_like(x))  # <- here
    cool[blocks(x.size), THREADS](d_x, d_out, STEPS)
    return d_out.copy_to_host()
