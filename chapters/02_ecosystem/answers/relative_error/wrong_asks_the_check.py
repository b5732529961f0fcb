# verdict: library
# The check knows the error that it put in.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    return checks.put_in(pair)  # <- here
