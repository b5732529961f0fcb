# verdict: answer
# GPUs always wait for memory.
def classify(program):
    """Return what a program waits for."""
    return "memory"  # <- here
