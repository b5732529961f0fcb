# verdict: wrong-value
# n workers, n times as fast.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return workers  # <- here
