# verdict: answer
# GELU is like ReLU.
def keeps(line):
    """Return what an operation keeps: "inputs", "output" or "nothing"."""
    if line in ("x.exp()", "x.tanh()", "x.relu()", "gelu(x)"):
        return "output"  # <- here
    linear = "x + y", "x * 2", "x.t()", "x.sum()"
    return "nothing" if line in linear else "inputs"
