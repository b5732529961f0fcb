# verdict: wrong-value
# The new time is the answer.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return serial + (1 - serial) / workers  # <- here
