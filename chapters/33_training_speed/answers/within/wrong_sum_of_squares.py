# verdict: wrong-value
# Add up the squares.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for i, block in enumerate(blocks):
        if i < len(blocks) - keep:
            x = checkpoint(block, x, use_reentrant=False)
        else:
            x = block(x)
    loss = x.square().sum()
    loss.backward()
    return loss.detach()
