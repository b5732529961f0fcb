# verdict: wrong-value
# Use a lambda; but it looks up `block` when it runs again, and finds the last.
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
