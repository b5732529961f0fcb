# verdict: answer
# The unsupported toolchain is the toolkit.
def diagnose(message):
    """Return "driver", "build", "package", "hidden" or "toolkit"."""
    if "nvcc" in message or "toolchain" in message:
        return "toolkit"
    if "image" in message:
        return "build"
    if "Torch" in message:
        return "package"
    return "hidden" if "available" in message else "driver"
