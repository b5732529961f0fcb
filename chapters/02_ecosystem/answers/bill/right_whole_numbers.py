# verdict: pass
# No floats: a hundredfold of everything.
def bill(steps, ms, busy, idle, gpus, price):
    """Return what a run costs, in cents."""
    need = 100 * steps * ms + idle * 60_000 * busy
    hours = -(-need // (3_600_000 * busy))
    return hours * gpus * price
