# verdict: wrong-value
# Divide the rate by the amount.
def least_ms(flops, bytes, machine):
    """Return the least time of a kernel on a machine, in ms."""
    return max(machine.copy / bytes, machine.fp32 / flops) * 1e3  # <- here
