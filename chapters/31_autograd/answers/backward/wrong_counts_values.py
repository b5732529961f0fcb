# verdict: answer
# Count the values that use an input; but x * x uses x twice.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    waiting, stack, seen = {}, [output], {output}
    while stack:
        for source in {source for source, _ in stack.pop().edges}:
            waiting[source] = waiting.get(source, 0) + 1
            if source not in seen:
                seen.add(source)
                stack.append(source)

    gradients, ready = {output: seed}, [output]
    while ready:
        value = ready.pop()
        for source, vjp in value.edges:
            share = vjp(gradients[value])
            if source in gradients:
                share = plus(gradients[source], share)
            gradients[source] = share
            waiting[source] -= 1
            if waiting[source] <= 0:
                ready.append(source)
    return gradients  # <- here
