# verdict: answer
# If no GPU is found, the wheel is wrong.
def diagnose(message):
    """Return "driver", "build", "package", "hidden" or "toolkit"."""
    if "nvcc" in message:
        return "toolkit"
    if "image" in message:
        return "build"
    return "driver" if "version" in message else "package"
