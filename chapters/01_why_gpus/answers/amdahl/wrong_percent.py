# verdict: wrong-value
# A fraction is given in per cent.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return 1 / (serial / 100 + (1 - serial / 100) / workers)  # <- here
