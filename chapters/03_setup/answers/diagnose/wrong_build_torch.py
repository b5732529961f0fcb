# verdict: answer
# PyTorch is not compiled with CUDA, so compile it.
def diagnose(message):
    """Return "driver", "build", "package", "hidden" or "toolkit"."""
    if "nvcc" in message:
        return "toolkit"
    if "image" in message or "compiled with CUDA" in message:
        return "build"
    return "hidden" if "available" in message else "driver"
