# verdict: answer
# Any name will do.
def classify(program):
    """Return what a program waits for."""
    return {  # <- here
        "springs": "launch",
        "speeds": "bandwidth",
        "roots": "compute",
        "columns": "latency",
    }[program]
