# verdict: wrong-value
# Dispatch on the first argument, as a method call does.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    left = (arguments[0] | included) & ~excluded & kernels
    return left.bit_length() - 1  # <- here
