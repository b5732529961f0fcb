# verdict: answer
# contiguous() makes a new tensor, and so does to().
def copies(line):
    """Return what a line of Python gives: "view" or "copy"."""
    if "contiguous" in line or ".to(" in line:
        return "copy"  # <- here
    if "[[" in line or "flip" in line:
        return "copy"
    return "copy" if line in ("x.t().reshape(24)", "x[:, :2].reshape(8)") else "view"
