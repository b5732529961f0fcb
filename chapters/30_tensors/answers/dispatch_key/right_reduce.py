# verdict: pass
# Reduce to the union; the text of the number gives the highest bit.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    import functools
    import operator

    left = functools.reduce(operator.or_, arguments, included)
    left = (left ^ (left & excluded)) & kernels
    return len(f"{left:b}") - 1 if left else -1
