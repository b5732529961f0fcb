# verdict: pass
# Is the kernel to the left or to the right of the ridge?
def least_ms(flops, bytes, machine):
    """Return the least time of a kernel on a machine, in ms."""
    if flops / bytes < machine.fp32 / machine.copy:
        return 1000 * bytes / machine.copy
    return 1000 * flops / machine.fp32
