# verdict: wrong-value
# The speed-up is one over the serial fraction.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return 1 / serial  # <- here
