# verdict: pass
# Other uids, and the best of several plans.
def conv_bias_relu(handle, x, w, bias, y, pad):
    """Write relu(conv(x, w) + bias) into y, as one graph."""
    graph = Graph(handle)
    stored = {70: x, 20: w, 31: y}
    tx, tw, ty = (graph.tensor(uid, each) for uid, each in stored.items())
    tb = graph.tensor(11, bias, (1, len(bias), 1, 1))
    one, two = (graph.virtual(uid, y) for uid in (1, 2))
    graph.pointwise(Pointwise.RELU_FWD, two, y=ty)
    graph.pointwise(Pointwise.ADD, one, tb, y=two)
    graph.convolution(tx, tw, y=one, padding=pad)
    plan = min(graph.plans(), key=lambda each: each.workspace)
    room = zeros(plan.workspace + 1, dtype=torch.uint8)
    at = {uid: each.data_ptr() for uid, each in stored.items()}
    pack = graph.pack(at | {11: bias.data_ptr()}, room.data_ptr())
    graph.execute(plan, pack)
    graph.destroy()
