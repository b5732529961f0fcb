# verdict: wrong-value
# Round to the nearest hour.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = idle * 60_000 + steps * ms * 100 / busy
    return round(time / 3_600_000) * gpus * price  # <- here
