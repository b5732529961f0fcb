# verdict: capture
# Capturing runs the step once anyway.
def as_graph(step, x, answers):
    held_x, held_answers = x.clone(), answers.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # <- here
        loss = step(held_x, held_answers)

    def replay(x, answers):
        held_x.copy_(x)
        held_answers.copy_(answers)
        graph.replay()
        return loss.clone()

    return replay
