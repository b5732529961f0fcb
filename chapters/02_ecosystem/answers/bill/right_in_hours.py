# verdict: pass
# Compute in hours from the start.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    work = steps * ms / 3_600_000 * 100 / busy
    hours = math.ceil(round(work + idle / 60, 9))
    return gpus * hours * price
