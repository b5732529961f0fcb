# verdict: wrong-value
# The least time is the smaller of the two.
def least_ms(flops, bytes, machine):
    """Return the least time of a kernel on a machine, in ms."""
    return min(bytes / machine.copy, flops / machine.fp32) * 1e3  # <- here
