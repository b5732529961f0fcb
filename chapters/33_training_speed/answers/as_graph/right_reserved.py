# verdict: pass
# The warm-up uses the batch itself; a capture computes nothing, so needs no values.
def as_graph(step, x, answers):
    held_x, held_answers = torch.empty_like(x), torch.empty_like(answers)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(x, answers)
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(held_x, held_answers)

    def replay(x, answers):
        held_x.copy_(x)
        held_answers.copy_(answers)
        graph.replay()
        return loss.clone()

    return replay
