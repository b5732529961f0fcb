"""Checks of steps captured in a CUDA graph, on a model of graphs and on a GPU.

`check(graphed, captured=True, made=..., inputs=..., sizes=...)` gives the learner's
function a training step and a `torch.cuda` whose streams and graphs are a model
(`model`): what is captured is recorded rather than run, and a replay runs it on the
memory of the capture. `room` compares the losses and weights with those of the step run
without a graph.
"""
