# verdict: exception
# The pair carries its error with it.
def relative_error(pair):
    """Return the worst error, relative to the largest magnitude wanted."""
    return pair.error  # <- here
