# verdict: wrong-value
# serial is the part that the workers share.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return 1 / (1 - serial + serial / workers)  # <- here
