# verdict: wrong-value
# Eight GPUs are eight times as fast, so the bill is the same.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = idle * 60_000 + steps * ms * 100 / busy / gpus
    return math.ceil(time / 3_600_000) * gpus * price  # <- here
