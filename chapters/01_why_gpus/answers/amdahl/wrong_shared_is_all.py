# verdict: wrong-value
# The serial part, plus all of the work divided among the workers.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return 1 / (serial + 1 / workers)  # <- here
