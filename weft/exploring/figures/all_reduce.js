// An all-reduce step by step: what each rank holds, and which links carry data.

import { counted, figure, number, picture, rect, s, text } from "./figure.js";
import { after, cost, steps } from "./all_reduce_rules.js";

const two = (value) => number(value, 2);

function draw(state, width) {
  const { method, ranks } = state;
  const all = steps(method, ranks);
  const { held, fresh, sent, last } = after(method, ranks, state.step);
  const left = width >= 480 ? 54 : 18;
  const room = Math.min((width - left - 1) / ranks, 110);
  const tall = 20;
  const top = 32;
  const foot = top + ranks * tall;
  const out = [text(left, 11, "ranks", "soft")];
  for (let chunk = 0; chunk < ranks; chunk++) {
    const y = top + chunk * tall + 14;
    const name = width >= 480 ? `chunk ${chunk}` : chunk;
    out.push(text(left - 5, y, name, "soft end"));
  }
  held.forEach((chunks, rank) => {
    const x = left + rank * room + 5;
    const wide = room - 10;
    out.push(text(x + wide / 2, top - 6, rank, "letter"));
    chunks.forEach((sum, chunk) => {
      const y = top + chunk * tall;
      const whole = sum.length === ranks;
      out.push(rect(x, y, wide, tall, "empty"));
      out.push(rect(x, y, (wide * sum.length) / ranks, tall, whole ? "used" : "band"));
      if (fresh[rank].includes(chunk)) out.push(rect(x + 1.5, y + 1.5, wide - 3, tall - 3, "edge"));
      out.push(rect(x, y, wide, tall, "box"));
      out.push(text(x + wide / 2, y + 14, sum.length, whole ? "cell on" : "cell"));
    });
  });
  const middle = (rank) => left + (rank + 0.5) * room;
  for (const { from, to, chunks } of last) {
    const wrap = method === "ring" && to < from;
    const [a, b] = [middle(from), middle(to)];
    const deep = wrap ? 46 : method === "ring" ? 16 : 12 + 8 * Math.log2(Math.abs(to - from) + 1);
    const [u, v] = [a + Math.sign(b - a) * 5, b - Math.sign(b - a) * 5];
    const d = `M${u} ${foot + 3}C${u} ${foot + deep} ${v} ${foot + deep} ${v} ${foot + 9}`;
    const kind = chunks.length > 1 ? "hop across heavy" : "hop across";
    out.push(s("path", { d, class: kind }));
    out.push(s("path", { d: `M${v} ${foot + 3}l-4 7h8Z`, class: "head across" }));
  }
  const most = Math.max(...sent) / ranks;
  const { latencies, sizes } = cost(method, ranks);
  return {
    picture: picture(width, foot + 44, out),
    numbers: [
      [`${state.step} of ${all}`, "steps"],
      [`${last.length} of ${ranks}`, "ranks send in this step"],
      [`${two(most)} n`, "bytes sent by the busiest rank"],
      [`${latencies} α + ${two(sizes)} n/β`, "time for all steps"],
    ],
    said: words(state, all, last, most),
  };
}

function words({ method, ranks, step }, all, last, most) {
  if (!step) return `Each of ${ranks} ranks has a tensor of n bytes, in ${ranks} chunks. A cell shows how many tensors its sum contains.`;
  const what = method === "ring" ? `a chunk of n/${ranks} bytes` : "all n bytes";
  if (step === all)
    return method === "ring"
      ? `Every rank has the whole sum, and has sent ${two(most)} n bytes: less than 2 n for any number of ranks.`
      : `Every rank has the whole sum. There were few steps, but rank 0 alone has sent ${two(most)} n bytes.`;
  if (method === "ring" && step === all / 2)
    return "Each rank has one chunk of the whole sum: a reduce-scatter. From now on, complete chunks go around.";
  if (method === "tree" && step === all / 2)
    return "Rank 0 has the whole sum. It is sent back the way it came.";
  const adds = last[0].adds ? "adds it to its own" : "replaces its own";
  return `${counted(last.length, "rank sends", "ranks send")} ${what}. The receiver ${adds}.`;
}

export default figure({
  defaults: { method: "ring", ranks: 4, step: 2 },
  fit: (state) => ({ ...state, step: Math.min(state.step, steps(state.method, state.ranks)) }),
  controls: [
    {
      kind: "choice",
      key: "method",
      label: "All-reduce by a",
      options: [
        ["ring", "ring"],
        ["tree", "tree"],
      ],
    },
    {
      kind: "buttons",
      key: "steps",
      label: "Steps",
      items: [
        [
          "Step",
          (now) => ({ step: now.step + 1 }),
          (now) => now.step < steps(now.method, now.ranks),
        ],
        ["Back", (now) => ({ step: now.step - 1 }), (now) => now.step > 0],
        [
          "To the end",
          (now) => ({ step: steps(now.method, now.ranks) }),
          (now) => now.step < steps(now.method, now.ranks),
        ],
        ["Start again", () => ({ step: 0 }), (now) => now.step > 0],
      ],
    },
    { kind: "range", key: "ranks", label: "ranks", min: 2, max: 8 },
  ],
  draw,
});
