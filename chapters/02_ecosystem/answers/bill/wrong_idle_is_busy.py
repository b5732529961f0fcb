# verdict: wrong-value
# The busy share applies to the idle minutes as well.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    time = (idle * 60_000 + steps * ms) * 100 / busy
    return math.ceil(time / 3_600_000) * gpus * price  # <- here
