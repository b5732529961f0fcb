# verdict: exception
# Add with +.
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

    gradients, ready = {output: seed}, [output]
    while ready:
        value = ready.pop()
        for source, vjp in value.edges:
            share = vjp(gradients[value])
            if source in gradients:
                share = gradients[source] + share  # <- here
            gradients[source] = share
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    return gradients
