# verdict: wrong-value
# The copies belong to the step, so capture them, too.
def as_graph(step, x, answers):
    held_x, held_answers = x.clone(), answers.clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(held_x, held_answers)
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        held_x.copy_(x)  # <- here
        held_answers.copy_(answers)
        loss = step(held_x, held_answers)

    def replay(x, answers):
        graph.replay()
        return loss.clone()

    return replay
