// A backward pass through a small graph, node by node. Held against chapter 31's engine
// and PyTorch by tests/figures/test_gradients.py.

// x = 2, b = 4: a = x + 1, c = a * b, d = a + c. Each edge has a target and the factor by
// which it multiplies the gradient of its node.
export const GRAPH = {
  d: { code: "d = a + c", value: 15, edges: [["a", 1], ["c", 1]] },
  c: { code: "c = a * b", value: 12, edges: [["a", 4], ["b", 3]] },
  a: { code: "a = x + 1", value: 3, edges: [["x", 1]] },
  b: { code: "b", value: 4, edges: [] },
  x: { code: "x", value: 2, edges: [] },
};
export const NODES = Object.keys(GRAPH);

/** How many edges lead to each node. */
export function incoming() {
  const count = Object.fromEntries(NODES.map((name) => [name, 0]));
  for (const { edges } of Object.values(GRAPH)) for (const [target] of edges) count[target] += 1;
  return count;
}

/**
 * The pass after `step` visits, by an engine that is "right", that "assigns" shares
 * instead of adding them, or that visits nodes as it meets them: "early".
 *
 * Returns { visited, gradients, missing, shares, next }: the nodes visited in order, the
 * gradient of each node, how many shares it still waits for, the shares by edge ("d-a"),
 * and the node to be visited next, null at the end.
 */
export function passed(engine, step) {
  const gradients = Object.fromEntries(NODES.map((name) => [name, 0]));
  gradients.d = 1;
  const missing = incoming();
  const shares = {};
  const [visited, queue] = [[], ["d"]];
  while (visited.length < step && queue.length) {
    const name = queue.shift();
    visited.push(name);
    for (const [target, factor] of GRAPH[name].edges) {
      const share = factor * gradients[name];
      shares[`${name}-${target}`] = share;
      gradients[target] = engine === "assigns" ? share : gradients[target] + share;
      missing[target] -= 1;
      const met = visited.includes(target) || queue.includes(target);
      if (engine === "early" ? !met : missing[target] === 0) queue.push(target);
    }
  }
  return { visited, gradients, missing, shares, next: queue[0] ?? null };
}
