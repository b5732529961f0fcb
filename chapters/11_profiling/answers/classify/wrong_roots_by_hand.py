# verdict: answer
# No roof is near.
def classify(program):
    """Return what a program waits for."""
    return {  # <- here
        "springs": "launch",
        "speeds": "memory",
        "roots": "latency",
        "columns": "latency",
    }[program]
