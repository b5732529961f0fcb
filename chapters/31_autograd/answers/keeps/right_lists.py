# verdict: pass
# Two lists of lines.
def keeps(line):
    """Return what an operation keeps: "inputs", "output" or "nothing"."""
    if line in ("x.exp()", "x.tanh()", "x.relu()"):
        return "output"
    linear = "x + y", "x * 2", "x.t()", "x.sum()"
    return "nothing" if line in linear else "inputs"
