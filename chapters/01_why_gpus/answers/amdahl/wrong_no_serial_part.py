# verdict: wrong-value
# Only the shared part counts, so I divide by it.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    return workers / (1 - serial)  # <- here
