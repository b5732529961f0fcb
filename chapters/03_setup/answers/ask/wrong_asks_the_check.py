# verdict: library
# The check knows.
def ask(function, *arguments):
    """Return the number that a function of the driver answers, or -status."""
    return checks.told(function, *arguments)  # <- here
