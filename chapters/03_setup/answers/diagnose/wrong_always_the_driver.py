# verdict: answer
# It is always the driver.
def diagnose(message):
    """Return "driver", "build", "package", "hidden" or "toolkit"."""
    return "driver"  # <- here
