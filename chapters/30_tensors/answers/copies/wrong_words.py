# verdict: answer
# Answer with yes and no.
def copies(line):
    """Return what a line of Python gives: "view" or "copy"."""
    return "yes" if "[[" in line else "no"  # <- here
