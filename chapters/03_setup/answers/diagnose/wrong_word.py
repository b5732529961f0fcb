# verdict: answer
# The program has to be compiled again.
def diagnose(message):
    """Return "driver", "build", "package", "hidden" or "toolkit"."""
    return "rebuild" if "image" in message else "driver"  # <- here
