# verdict: pass
# No floats: multiply everything by the percentage first.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    need = 100 * steps * ms + idle * 60_000 * busy
    hours = -(-need // (3_600_000 * busy))
    return hours * gpus * price
