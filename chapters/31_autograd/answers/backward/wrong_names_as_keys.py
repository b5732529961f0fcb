# verdict: answer
# Use names as keys.
def backward(output, seed, plus):
    """Return the gradient of every value that output was computed from.

    seed: the gradient of output itself. plus: adds two gradients.
    """
    counts = {}
    stack = [output]
    seen = {output}
    while stack:
        value = stack.pop()
        for source, vjp in value.edges:
            counts[source] = counts.get(source, 0) + 1
            if source not in seen:
                seen.add(source)
                stack.append(source)
    grads = {output: seed}
    ready = [output]
    while ready:
        value = ready.pop()
        for source, vjp in value.edges:
            share = vjp(grads[value])
            if source in grads:
                grads[source] = plus(grads[source], share)
            else:
                grads[source] = share
            counts[source] -= 1
            if counts[source] == 0:
                ready.append(source)
    return {v.name: g for v, g in grads.items()}
