# verdict: wrong-value
# Keep the keys that all arguments have.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    left = arguments[0]
    for argument in arguments:
        left &= argument
    left = (left | included) & ~excluded & kernels
    return left.bit_length() - 1  # <- here
