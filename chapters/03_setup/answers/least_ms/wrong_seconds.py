# verdict: wrong-value
# Bytes divided by bytes per second.
def least_ms(flops, bytes, machine):
    """Return the least time of a kernel on a machine, in ms."""
    return max(bytes / machine.copy, flops / machine.fp32)  # <- here
