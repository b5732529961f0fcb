# verdict: wrong-value
# Weight the speed-up of each part by its fraction, and add the two.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return serial + (1 - serial) * workers  # <- here
