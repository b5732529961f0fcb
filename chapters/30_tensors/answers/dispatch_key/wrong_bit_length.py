# verdict: wrong-value
# The number of bits is the number of the highest bit.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    left = included
    for argument in arguments:
        left |= argument
    left &= ~excluded & kernels
    return left.bit_length()  # <- here
