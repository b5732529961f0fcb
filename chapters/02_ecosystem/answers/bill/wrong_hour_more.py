# verdict: wrong-value
# Add one hour for the one that has begun.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = idle * 60_000 + steps * ms * 100 // busy
    return (time // 3_600_000 + 1) * gpus * price  # <- here
