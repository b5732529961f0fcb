# verdict: library
# The check has a function for this.
def ask(function, *arguments):
    """Return the answer of a driver function, or -status."""
    return checks.told(function, *arguments)  # <- here
