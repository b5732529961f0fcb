# verdict: answer
# It reaches half of what a copy reaches, so it is not memory.
def classify(program):
    """Return what a program waits for."""
    return {  # <- here
        "springs": "launch",
        "speeds": "latency",
        "roots": "compute",
        "columns": "latency",
    }[program]
