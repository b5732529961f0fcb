# verdict: pass
# Go through the keys from the highest down.
def dispatch_key(arguments, included, excluded, kernels):
    """Return the number of the key whose kernel runs, -1 for none."""
    for key in reversed(range(len(KEYS))):
        bit = 1 << key
        held = included & bit or any(argument & bit for argument in arguments)
        if held and not excluded & bit and kernels & bit:
            return key
    return -1
