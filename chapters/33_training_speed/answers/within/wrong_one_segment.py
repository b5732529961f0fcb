# verdict: held
# Checkpoint all of them as one piece; but it is recomputed as a whole.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    def front(x):
        for block in blocks[: len(blocks) - keep]:
            x = block(x)
        return x


    x = checkpoint(front, x, use_reentrant=False)
    for block in blocks[len(blocks) - keep :]:
        x = block(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
