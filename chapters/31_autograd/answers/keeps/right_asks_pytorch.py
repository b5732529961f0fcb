# verdict: pass
# Run the line and ask PyTorch what it saves: not a prediction, but right.
def keeps(line):
    """Return what an operation keeps: "inputs", "output" or "nothing"."""
    x, y = (torch.rand(2, 2, requires_grad=True) for _ in "xy")
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(kept.append, lambda t: t):
        z = eval(line, {"x": x, "y": y, "gelu": functional.gelu})
    if not kept:
        return "nothing"
    return "output" if kept[0].data_ptr() == z.data_ptr() else "inputs"
