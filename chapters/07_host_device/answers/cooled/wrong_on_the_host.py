# verdict: wrong-value
# The formula is known, so why not use it?
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    return (20 + (x - 20) * 0.999**STEPS).astype(np.float32)
