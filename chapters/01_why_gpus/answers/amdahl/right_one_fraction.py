# verdict: pass
# Multiply numerator and denominator by the number of workers.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return workers / (workers * serial + 1 - serial)
