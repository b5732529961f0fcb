// A backward pass: which node is visited when, and which shares of the gradient it has.

import { counted, figure, h, picture, rect, s, text } from "./figure.js";
import { GRAPH, NODES, passed } from "./gradients_rules.js";

const [WIDE, TALL] = [120, 58]; // of a node
const PLACES = { d: [0.5, 0], c: [0.27, 1], a: [0.7, 2], b: [0.16, 2], x: [0.7, 3] };
const LEVEL = 98;

function draw(state, width) {
  const now = passed(state.engine, state.step);
  const right = passed("right", NODES.length).gradients;
  const room = Math.min(width, 560);
  const wide = Math.min(WIDE, room / 2.7);
  const at = (name) => [PLACES[name][0] * room, PLACES[name][1] * LEVEL + 2];
  const out = [];
  const labels = [];
  for (const [name, { edges }] of Object.entries(GRAPH))
    for (const [target, factor] of edges) {
      const share = now.shares[`${name}-${target}`];
      const [x0, y0] = at(name);
      const [x1, y1] = at(target);
      const [from, to] = [y0 + TALL, y1 - 2];
      const kind = share === undefined ? "waiting" : "across";
      const lean = Math.sign(x1 - x0) * wide * 0.25;
      out.push(s("path", { d: `M${x0 + lean} ${from}L${x1 - lean} ${to - 7}`, class: `hop ${kind}` }));
      out.push(s("path", { d: `M${x1 - lean} ${to}l-4.5 -8h9Z`, class: `head ${kind}` }));
      const words = share === undefined ? `× ${factor}` : `${share}`;
      const [mx, my] = [(x0 + x1) / 2, (from + to) / 2 + 2];
      labels.push(text(mx, my, words, share === undefined ? "soft mid over" : "cell strong over"));
    }
  for (const name of NODES) {
    const [x, y] = at(name);
    const seen = now.visited.includes(name);
    const started = name === "d" || now.gradients[name] !== 0;
    const wrong = seen && now.gradients[name] !== right[name];
    const kind = wrong ? "wild" : seen ? "thread" : now.next === name ? "band" : "element";
    out.push(rect(x - wide / 2, y, wide, TALL, kind, { rx: 5 }));
    if (now.next === name) out.push(rect(x - wide / 2, y, wide, TALL, "edge", { rx: 5 }));
    out.push(text(x, y + 18, `${GRAPH[name].code}${GRAPH[name].edges.length ? "" : ` = ${GRAPH[name].value}`}`, "cell strong"));
    const gradient = started ? `gradient ${now.gradients[name]}` : "no gradient";
    out.push(text(x, y + 34, gradient, "cell"));
    const waits = now.missing[name];
    if (!seen && waits && name !== "d")
      out.push(text(x, y + 49, `waits for ${counted(waits, "share")}`, "letter"));
  }
  out.push(...labels);
  const done = now.next === null;
  const bad = done && now.gradients.x !== right.x;
  return {
    code: h("code", {}, state.engine === "assigns" ? "gradients[source] = vjp(g)" : "gradients[source] += vjp(g)"),
    picture: picture(room, 3 * LEVEL + TALL + 6, out),
    numbers: [
      [now.visited.join(", ") || "none", "visited"],
      [now.gradients.x, "gradient of x", bad && "bad"],
      [right.x, "is right"],
    ],
    said: words(state.engine, now, done, bad),
  };
}

function words(engine, now, done, bad) {
  const last = now.visited.at(-1);
  if (!last) return "The gradient of the output d is 1. Every edge multiplies the gradient by its factor.";
  if (bad && engine === "assigns")
    return "The second share of a has replaced the first. The engine is right only where every node is used once.";
  if (bad) return "Node a had one of its two shares when it was visited. The other came too late for x.";
  if (done) return "Each node was visited after all nodes that were computed from it. The gradient of x counts both paths.";
  if (engine === "early" && last === "a")
    return "Node a was met first, so it is visited first. It passes on 1, although a share is missing.";
  if (last === "c" && engine === "right") return "Now both shares of a have arrived. They are added, and a is ready.";
  if (last === "d" && engine === "right") return "Node a has received one share, but two edges lead to it. So c comes first.";
  return `Node ${last} has passed its gradient on, a share along each of its edges.`;
}

export default figure({
  defaults: { engine: "right", step: 1 },
  controls: [
    {
      kind: "choice",
      key: "engine",
      label: "The engine",
      options: [
        ["right", "waits and adds"],
        ["assigns", "assigns"],
        ["early", "does not wait"],
      ],
    },
    {
      kind: "buttons",
      key: "step",
      label: "Steps",
      items: [
        ["Visit the next node", (now) => ({ step: now.step + 1 }), (now) => now.step < NODES.length],
        ["Back", (now) => ({ step: now.step - 1 }), (now) => now.step > 0],
        ["Start again", () => ({ step: 0 }), (now) => now.step > 0],
      ],
    },
  ],
  draw,
});
