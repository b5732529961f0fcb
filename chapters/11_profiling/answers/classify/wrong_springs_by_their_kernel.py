# verdict: answer
# Its warps wait, says ncu.
def classify(program):
    """Return what a program waits for."""
    return {  # <- here
        "springs": "latency",
        "speeds": "memory",
        "roots": "compute",
        "columns": "latency",
    }[program]
