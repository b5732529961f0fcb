# verdict: type
# The number of the highest bit is the logarithm, of whatever is left.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    left = included
    for argument in arguments:
        left |= argument
    left &= ~excluded & kernels
    return math.log2(left) if left else -1  # <- here
