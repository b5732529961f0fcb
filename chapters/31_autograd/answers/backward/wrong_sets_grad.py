# verdict: wrong-value
# Store the gradients in the values, and return nothing.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    waiting, stack = {output: 0}, [output]
    while stack:
        for source, _ in stack.pop().edges:
            if source not in waiting:
                waiting[source] = 0
                stack.append(source)
            waiting[source] += 1

    output.grad, ready = seed, [output]
    while ready:
        value = ready.pop()
        for source, vjp in value.edges:
            share = vjp(value.grad)
            known = getattr(source, "grad", None)
            source.grad = share if known is None else plus(known, share)
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
