# verdict: traffic
# Numba takes NumPy arrays, and it works.
def cooled(x):
    """Return x, cooled on the device, as a NumPy array."""
    out = np.empty_like(x)
    cool[blocks(x.size), THREADS](x, out, STEPS)  # <- here
    return out
