# verdict: answer
# 16 bytes for 4 operations means memory.
def classify(program):
    """Return what a program waits for."""
    return {  # <- here
        "springs": "memory",
        "speeds": "memory",
        "roots": "compute",
        "columns": "latency",
    }[program]
