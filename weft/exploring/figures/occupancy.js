// An SM and the blocks that find room on it: which resource keeps out the next.

import { counted, figure, hatch, number, picture, rect, s, text } from "./figure.js";
import { LIMITS, occupancy } from "./occupancy_rules.js";

const NAMES = {
  warps: (n) => `${n} warps`,
  registers: (n) => `${n / 1024} K registers`,
  "shared memory": (n) => `${n / 1024} KB shared`,
  blocks: (n) => `${n} blocks`,
};

/** One resource: as many pieces as blocks are resident, and what is left over. */
function bar(x, y, width, height, found, name) {
  const has = found.has[name];
  const piece = (found.uses[name] / has) * width;
  const full = found.limitedBy.includes(name);
  const out = [rect(x, y, width, height, "empty")];
  let at = x;
  for (let block = 0; block < found.blocks && piece; block++) {
    out.push(rect(at, y, Math.max(piece - 1, 0.5), height, `fill${block % 2}`));
    if (piece > 15) out.push(text(at + piece / 2, y + height / 2 + 4, block, "cell on"));
    at += piece;
  }
  const rest = x + width - at;
  if (full && rest > 1) {
    out.push(hatch(at, y, rest, height, "hatch waste", 6));
    out.push(rect(at, y, rest, height, "wild outline"));
  }
  return out;
}

function draw(state, width) {
  const found = occupancy({ ...state, shared: state.shared * 1024 });
  const wide = width >= 560;
  const label = wide ? 138 : 0;
  const right = wide ? 108 : 0;
  const out = [];
  let y = 0;
  for (const [name, words] of Object.entries(NAMES)) {
    const full = found.limitedBy.includes(name);
    const mark = full ? "strong" : "soft";
    const room = `room for ${number(found.allowed[name])}${full ? " ◂" : ""}`;
    if (!wide) {
      out.push(text(0, y + 12, words(found.has[name]), mark));
      out.push(text(width - 1, y + 12, room, `${mark} end`));
      y += 18;
    } else {
      out.push(text(label - 10, y + 18, words(found.has[name]), `${mark} end`));
      out.push(text(width - right + 10, y + 18, room, mark));
    }
    out.push(bar(label, y, width - label - right, 27, found, name));
    y += wide ? 38 : 36;
  }
  const limits = found.limitedBy;
  const all = limits.length > 1 ? `${limits.slice(0, -1).join(", ")} and ${limits.at(-1)}` : limits[0];
  const said =
    found.blocks === 0
      ? `A block like this cannot run at all: an SM has too few ${all === "warps" ? "warps" : all} for it.`
      : found.share === 1
        ? "Every warp slot is taken."
        : `Limited by ${all}: no further block fits. ${counted(found.has.warps - found.warps, "warp slot")} ${found.has.warps - found.warps === 1 ? "stays" : "stay"} empty.`;
  return {
    picture: picture(width, y - 4, out),
    numbers: [
      [number(found.blocks), found.blocks === 1 ? "resident block" : "resident blocks"],
      [`${found.warps} of ${found.has.warps}`, "warps"],
      [`${number(100 * found.share)} %`, "occupancy", found.share < 0.25 && "bad"],
    ],
    said,
  };
}

const most = (state) => Math.floor((LIMITS[state.capability].shared - LIMITS[state.capability].reserved) / 1024);

export default figure({
  defaults: { capability: "9.0", threads: 256, registers: 40, shared: 16 },
  fit: (state) => ({ ...state, shared: Math.min(state.shared, most(state)) }),
  controls: [
    {
      kind: "menu",
      key: "capability",
      label: "Compute capability",
      options: [
        ["7.5", "7.5 (T4, RTX 20)"],
        ["8.0", "8.0 (A100)"],
        ["8.6", "8.6 (A10, RTX 30)"],
        ["8.7", "8.7 (Jetson Orin)"],
        ["8.9", "8.9 (L4, RTX 40)"],
        ["9.0", "9.0 (H100, H200)"],
        ["10.0", "10.0 (B200)"],
        ["10.3", "10.3 (B300)"],
        ["12.0", "12.0 (RTX 50)"],
      ],
    },
    {
      kind: "range",
      key: "threads",
      label: "threads per block",
      min: 32,
      max: 1024,
      step: 32,
    },
    { kind: "range", key: "registers", label: "registers per thread", min: 16, max: 255 },
    {
      kind: "range",
      key: "shared",
      label: "shared memory per block",
      max: most,
      text: (kilobytes) => `${kilobytes} KB`,
    },
  ],
  draw,
});
