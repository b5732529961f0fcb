# verdict: wrong-value
# The shared part becomes that many times as fast, and that is the speed-up.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return (1 - serial) * workers  # <- here
