# verdict: answer
# ncu says that its warps wait.
def classify(program):
    """Return what a program waits for."""
    return {  # <- here
        "springs": "latency",
        "speeds": "memory",
        "roots": "compute",
        "columns": "latency",
    }[program]
