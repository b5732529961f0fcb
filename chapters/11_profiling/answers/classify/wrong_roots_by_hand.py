# verdict: answer
# It is not close to any roof, so it is latency.
def classify(program):
    """Return what a program waits for."""
    return {  # <- here
        "springs": "launch",
        "speeds": "memory",
        "roots": "latency",
        "columns": "latency",
    }[program]
