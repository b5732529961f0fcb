# verdict: wrong-value
# A step takes as long as a step takes.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = idle * 60_000 + steps * ms
    return math.ceil(time / 3_600_000) * gpus * price  # <- here
