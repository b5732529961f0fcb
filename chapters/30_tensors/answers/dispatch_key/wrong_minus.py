# verdict: wrong-value
# Subtract the numbers, as with sets.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    left = included
    for argument in arguments:
        left |= argument
    left = (left - excluded) & kernels
    return left.bit_length() - 1  # <- here
