# verdict: answer
# reshape only changes the shape.
def copies(line):
    """Return what a line of Python gives: "view" or "copy"."""
    if line in ("x.t().contiguous()", "x[[0, 2]]", "x.flip(0)"):
        return "copy"
    return "view"  # <- here
