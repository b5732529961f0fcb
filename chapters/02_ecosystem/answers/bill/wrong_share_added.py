# verdict: wrong-value
# If the GPU is idle for 40 % of the time, the work takes 40 % longer.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = idle * 60_000 + steps * ms * (200 - busy) / 100
    return math.ceil(time / 3_600_000) * gpus * price  # <- here
