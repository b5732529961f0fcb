# verdict: wrong-value
# An hour has 3600 seconds.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = idle * 60 + steps * ms * 100 / busy
    return math.ceil(time / 3600) * gpus * price  # <- here
