# verdict: type
# The bill is by the second, as one would wish.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = idle * 60_000 + steps * ms * 100 / busy
    return time / 3_600_000 * gpus * price  # <- here
