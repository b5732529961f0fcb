# verdict: wrong-value
# The lambda looks up `block` when it is run again, and finds the last one.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for number, block in enumerate(blocks):
        if number < len(blocks) - keep:
            x = checkpoint(lambda x: block(x), x, use_reentrant=False)
        else:
            x = block(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
