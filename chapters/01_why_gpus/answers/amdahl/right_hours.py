# verdict: pass
# Add up the time step by step; the speed-up is its inverse.
def amdahl(serial, workers):
    """Return the speed-up of `workers` workers over one."""
    shared = 1 - serial
    time = serial
    time += shared / workers
    return 1.0 / time
