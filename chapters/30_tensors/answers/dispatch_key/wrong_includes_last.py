# verdict: wrong-value
# Remove first and add afterwards.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    left = 0
    for argument in arguments:
        left |= argument
    left = (left & ~excluded | included) & kernels
    return left.bit_length() - 1  # <- here
