# verdict: wrong-value
# Do not skip the keys that fall through.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    left = included
    for argument in arguments:
        left |= argument
    left &= ~excluded
    return left.bit_length() - 1  # <- here
