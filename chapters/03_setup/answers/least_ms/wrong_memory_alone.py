# verdict: wrong-value
# Memory is always the limit.
def least_ms(flops, bytes, machine):
    """Return the least time of a kernel on a machine, in ms."""
    return bytes / machine.copy * 1e3  # <- here
