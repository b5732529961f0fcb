# verdict: wrong-value
# The highest key decides; if the operator has no kernel for it, none runs.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    keys = included
    for argument in arguments:
        keys |= argument
    keys &= ~excluded
    key = keys.bit_length() - 1
    if key >= 0 and not kernels >> key & 1:
        return -1  # <- here
    return key
