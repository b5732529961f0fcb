# verdict: answer
# Any product keeps its factors.
def keeps(line):
    """Return what an operation keeps: "inputs", "output" or "nothing"."""
    if line in ("x.exp()", "x.tanh()", "x.relu()"):
        return "output"
    return "nothing" if line in ("x + y", "x.t()", "x.sum()") else "inputs"  # <- here
