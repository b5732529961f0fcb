// A block computes one tile of a matrix product: from global memory to shared memory
// to registers, and what each step costs.

import { figure, hatch, number, picture, rect, s, text } from "./figure.js";
import { SIZE, counted, steps } from "./tiling_rules.js";

const WHERE = 1; // the tile of C that the block computes, in tiles from the corner

function matrix(x, y, side, name) {
  const cell = side / SIZE;
  let d = "";
  for (let i = 0; i <= SIZE; i++)
    d += `M${x + i * cell} ${y}v${side}M${x} ${y + i * cell}h${side}`;
  return {
    under: rect(x, y, side, side, "empty"),
    over: [s("path", { d, class: "grid" }), text(x + 6, y + 17, name, "tag strong")],
  };
}

function draw(state, width) {
  const { tile, held, step } = state;
  const now = counted(state, step);
  const all = steps(state);
  const loading = step % 2 === 1;
  const k = Math.max(0, now.loads - 1); // the tile along k that is in shared memory
  const wide = width >= 560;
  const side = wide ? 208 : (width - 14) / 2;
  const gap = wide ? 14 : 10;
  const cell = side / SIZE;
  const [x, y] = [side + gap, side + gap];
  const at = WHERE * tile * cell;
  const size = tile * cell;
  const a = matrix(0, y, side, "A");
  const b = matrix(x, 0, side, "B");
  const c = matrix(x, y, side, "C");
  const kind = loading ? "load" : "used";
  const out = [
    [a, b, c].map((m) => m.under),
    rect(0, y + at, side, size, "band"),
    rect(x + at, 0, size, side, "band"),
    now.loads > 0 && [
      rect(k * size, y + at, size, size, kind),
      rect(x + at, k * size, size, size, kind),
    ],
    rect(x + at, y + at, size, size, "gone"),
    // Every element of the tile is a part done, not a part of them done.
    rect(x + at, y + at, size, size, "fill0", { opacity: (2 * now.products) / all }),
    [a, b, c].map((m) => m.over),
    rect(x + at, y + at, size, size, "edge"),
  ];
  // The way down: what is in shared memory, and in the registers of one thread.
  const left = wide ? 2 * side + gap + 34 : 0;
  let top = wide ? 0 : 2 * side + gap + 16;
  const room = width - left;
  const piece = Math.min(92, (room - 30) / 2);
  const grain = piece / tile;
  const tiles = ["A", "B"].map((name, i) => {
    const px = left + i * (piece + 24);
    const full = now.loads > 0;
    let d = "";
    for (let j = 0; j <= tile; j++)
      d += `M${px + j * grain} ${top + 20}v${piece}M${px} ${top + 20 + j * grain}h${piece}`;
    const part = held * grain;
    return [
      rect(px, top + 20, piece, piece, full ? kind : "empty"),
      !full && hatch(px, top + 20, piece, piece, "hatch", 8),
      full &&
        !loading &&
        step > 0 &&
        rect(px, top + 20, i ? part : grain, i ? grain : part, "here"),
      s("path", { d, class: "grid" }),
      text(px + 5, top + piece + 13, name, "tag strong"),
    ];
  });
  out.push(text(left, top + 11, "in shared memory", "soft"), tiles);
  top += piece + 42;
  const reg = 19;
  out.push(text(left, top, "in the registers of a thread", "soft"));
  for (let i = 0; i < held * held; i++)
    out.push(
      rect(
        left + (i % held) * reg,
        top + 8 + Math.floor(i / held) * reg,
        reg - 2,
        reg - 2,
        now.products ? "fill0" : "element",
      ),
    );
  out.push(
    text(left + held * reg + 8, top + 21, `${held * held} of C`, ""),
    rect(left + held * reg + 9, top + 28, 9, 10, "here"),
    text(left + held * reg + 23, top + 37, `${2 * held} read for ${held * held} FMA`, "soft"),
  );
  const height = wide ? 2 * side + gap : top + 8 + 4 * reg;
  const done = step >= all;
  const said =
    step === 0
      ? "The block is about to compute the outlined tile of C. It needs a band of A and a band of B."
      : loading
        ? `A tile of A and one of B are copied from global memory to shared memory: ${number(2 * tile * tile * 4)} bytes. Then a barrier.`
        : done
          ? `Done. Every element that was fetched was used ${tile} times: a tile twice as wide would halve the bytes.`
          : `All threads multiply what is in shared memory and add the products to the sums in their registers; ${now.products} of ${all / 2} parts ${now.products === 1 ? "is" : "are"} done. Then a barrier, and the next tiles.`;
  return {
    picture: picture(width, height + 2, out),
    numbers: [
      [`${number(now.moved)} B`, "from global memory"],
      [number(now.shared), "words from shared"],
      [number(now.flops), "FLOP"],
      [now.moved ? number(now.flops / now.moved, 2) : "–", "FLOP per byte"],
    ],
    said,
  };
}

export default figure({
  defaults: { tile: 4, held: 1, step: 2 },
  fit: (state) => ({
    ...state,
    held: Math.min(state.held, state.tile),
    step: Math.min(state.step, steps(state)),
  }),
  controls: [
    {
      kind: "choice",
      key: "tile",
      label: "Tile",
      options: [2, 4, 8].map((n) => [n, `${n} × ${n}`]),
    },
    {
      kind: "choice",
      key: "held",
      label: "A thread computes",
      options: [1, 2, 4].map((n) => [n, `${n} × ${n}`]),
    },
    {
      kind: "buttons",
      label: "Steps",
      items: [
        ["Step", (now) => ({ step: now.step + 1 }), (now) => now.step < steps(now)],
        ["Back", (now) => ({ step: now.step - 1 }), (now) => now.step > 0],
        ["To the end", (now) => ({ step: steps(now) }), (now) => now.step < steps(now)],
        ["Start again", () => ({ step: 0 }), (now) => now.step > 0],
      ],
    },
  ],
  draw,
});
