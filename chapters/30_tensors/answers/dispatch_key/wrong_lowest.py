# verdict: wrong-value
# Take the lowest bit, which is the backend.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    left = included
    for argument in arguments:
        left |= argument
    left &= ~excluded & kernels
    return (left & -left).bit_length() - 1  # <- here
