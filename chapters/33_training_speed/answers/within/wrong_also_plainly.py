# verdict: operators
# Checkpoint a block after it has run plainly.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for k, block in enumerate(blocks):
        y = block(x)
        if k < len(blocks) - keep:
            y = checkpoint(block, x, use_reentrant=False)  # <- here
        x = y
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
