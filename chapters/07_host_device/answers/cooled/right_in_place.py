# verdict: pass
# The kernel may overwrite its input: each thread has its own element.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    d_x = cuda.to_device(x)
    cool[blocks(x.size), THREADS](d_x, d_x, STEPS)
    return d_x.copy_to_host()
