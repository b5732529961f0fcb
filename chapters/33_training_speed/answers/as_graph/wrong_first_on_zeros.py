# verdict: wrong-value
# replay copies every batch, so the first step can train on zeros.
def as_graph(step, x, answers):
    held_x, held_answers = torch.zeros_like(x), torch.zeros_like(answers)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(held_x, held_answers)  # <- here
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
