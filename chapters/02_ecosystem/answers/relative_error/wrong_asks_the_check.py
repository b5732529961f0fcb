# verdict: library
# The pair knows its error.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    return checks.put_in(pair)  # <- here
