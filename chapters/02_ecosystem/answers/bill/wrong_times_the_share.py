# verdict: wrong-value
# Busy half of the time means half of the bill.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = idle * 60_000 + steps * ms * busy / 100
    return math.ceil(time / 3_600_000) * gpus * price  # <- here
