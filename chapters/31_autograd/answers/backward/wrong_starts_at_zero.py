# verdict: exception
# Start every gradient at 0.
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

    gradients, ready = dict.fromkeys(waiting, 0.0), [output]
    gradients[output] = seed
    while ready:
        value = ready.pop()
        for source, vjp in value.edges:
            gradients[source] = plus(gradients[source], vjp(gradients[value]))  # <- here
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    return gradients
