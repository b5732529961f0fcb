# verdict: answer
# No GPU found: a wrong wheel.
def diagnose(message):
    """Return "driver", "build", "package", "hidden" or "toolkit"."""
    if "nvcc" in message:
        return "toolkit"
    if "image" in message:
        return "build"
    return "driver" if "version" in message else "package"
