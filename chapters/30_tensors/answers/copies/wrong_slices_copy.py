# verdict: answer
# Slices of Python lists are copies.
def copies(line):
    """Return what a line of Python gives: "view" or "copy"."""
    views = ("x.t()", "x.reshape(24)", "x[0].expand(4, 6)", "x.contiguous()")
    return "view" if line in views else "copy"  # <- here
