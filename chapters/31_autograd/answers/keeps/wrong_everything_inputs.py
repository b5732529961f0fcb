# verdict: answer
# Every gradient depends on the inputs.
def keeps(line):
    """Return what an operation keeps: "inputs", "output" or "nothing"."""
    return "inputs"  # <- here
