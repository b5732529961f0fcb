# verdict: wrong-value
# First fetch, then compute.
def least_ms(flops, bytes, machine):
    """Return the least time of a kernel on a machine, in ms."""
    return (bytes / machine.copy + flops / machine.fp32) * 1e3  # <- here
