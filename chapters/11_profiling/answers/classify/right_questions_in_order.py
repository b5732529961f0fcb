# verdict: pass
# Ask in order, and fall through.
def classify(program):
    """Return what a program waits for."""
    if program == "springs":
        return "launch"
    if program == "speeds":
        return "memory"
    return "compute" if program == "roots" else "latency"
