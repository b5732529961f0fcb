# verdict: wrong-value
# While nothing runs, only one GPU is paid for.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    work = math.ceil(steps * ms * 100 / busy / 3_600_000)
    return work * gpus * price + math.ceil(idle / 60) * price  # <- here
