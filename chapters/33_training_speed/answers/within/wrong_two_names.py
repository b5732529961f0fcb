# verdict: wrong-value
# Two loops, two names; but the lambda finds the last that has been checkpointed.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    count = len(blocks) - keep
    for recomputed in blocks[:count]:
        x = checkpoint(lambda x: recomputed(x), x, use_reentrant=False)
    for kept in blocks[count:]:
        x = kept(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
