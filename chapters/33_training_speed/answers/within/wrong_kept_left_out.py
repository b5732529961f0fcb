# verdict: wrong-value
# Run only the blocks that are checkpointed.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for block in blocks[: len(blocks) - keep]:
        x = checkpoint(block, x, use_reentrant=False)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
