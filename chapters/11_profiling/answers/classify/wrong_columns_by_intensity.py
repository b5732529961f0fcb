# verdict: answer
# It does nothing but read, so it is memory.
def classify(program):
    """Return what a program waits for."""
    return {  # <- here
        "springs": "launch",
        "speeds": "memory",
        "roots": "compute",
        "columns": "memory",
    }[program]
