# verdict: answer
# Answer with names.
def keeps(line):
    """Return what an operation keeps: "inputs", "output" or "nothing"."""
    return "x"  # <- here
