# verdict: operators
# Checkpoint one block more than memory requires.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for k, block in enumerate(blocks):
        if k <= len(blocks) - keep:
            x = checkpoint(block, x, use_reentrant=False)
        else:
            x = block(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
