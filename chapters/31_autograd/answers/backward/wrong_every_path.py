# verdict: answer
# Follows every path from the output, which is right and takes for ever.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from."""
    gradients, stack = {}, [(output, seed)]
    while stack:
        value, share = stack.pop()
        known = gradients.get(value)
        gradients[value] = share if known is None else plus(known, share)
        stack += [(source, vjp(share)) for source, vjp in value.edges]
    return gradients
