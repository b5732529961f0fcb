# verdict: pass
# Bind the block with functools.partial.
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    for number, block in enumerate(blocks):
        run = block
        if number + keep < len(blocks):
            run = functools.partial(checkpoint, block, use_reentrant=False)
        x = run(x)
    loss = x.square().mean()
    loss.backward()
    return loss.detach()
