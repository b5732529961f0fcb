# verdict: wrong-value
# Subtracts the numbers, as one would subtract sets.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    left = included
    for argument in arguments:
        left |= argument
    left = (left - excluded) & kernels
    return left.bit_length() - 1  # <- here
