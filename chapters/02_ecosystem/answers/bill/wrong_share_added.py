# verdict: wrong-value
# 40 % idle: 40 % more.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = idle * 60_000 + steps * ms * (200 - busy) / 100
    return math.ceil(time / 3_600_000) * gpus * price  # <- here
