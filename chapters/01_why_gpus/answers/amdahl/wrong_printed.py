# verdict: wrong-value
# To print a result is to return it.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    speedup = 1 / (serial + (1 - serial) / workers)
    print(speedup)
