// A block of a tile program, beside a block of threads that does the same.

import { figure, h, hatch, number, picture, rect, text } from "./figure.js";
import { blocks, indexOf, stored, tileOf } from "./tiles_rules.js";

const TILE = 8;
const MOST = 32; // elements

function draw(state, width) {
  const { n, block, mistaken } = state;
  const count = blocks(n, TILE);
  const index = indexOf(block, TILE, mistaken);
  const tile = tileOf(index, n, TILE);
  const threads = tileOf(block, n, TILE); // a thread's element is the same either way
  const owners = stored(n, TILE, mistaken);
  const cell = Math.min((width - 2) / MOST, 22);
  const out = [text(1, 12, `x, ${n} elements, in tiles of ${TILE}`, "soft")];
  const top = 34;
  for (let b = 0; b < count; b++) {
    const x = 1 + b * TILE * cell;
    const mine = b === index;
    out.push(rect(x, top, TILE * cell, 30, mine ? "chosen" : "box"));
    out.push(text(x + (TILE / 2) * cell, top - 6, `tile ${b}`, mine ? "letter held" : "letter"));
  }
  for (let i = 0; i < n; i++) {
    const x = 1 + i * cell;
    const loaded = tile.includes(i);
    const kind = loaded ? "used" : owners[i] === null ? "wild" : "band";
    out.push(rect(x + 1, top + 2, cell - 2, 26, kind));
    if (cell > 15) out.push(text(x + cell / 2, top + 19, i, loaded ? "cell on" : "cell"));
  }

  const foot = top + 70;
  const half = width >= 560 ? (width - 28) / 2 : width - 2;
  const side = Math.min(half / TILE, 40);
  const panel = (x, y, title, each) => {
    out.push(text(x, y - 8, title, "tag"));
    for (let k = 0; k < TILE; k++) each(x + k * side, y, k);
  };
  panel(1, foot, `cuTile: block ${block} has one tile`, (x, y, k) => {
    const there = tile[k] !== null;
    out.push(rect(x, y, side, 34, there ? "used" : "gone"));
    if (!there) out.push(hatch(x, y, side, 34, "hatch waste", 5));
    out.push(text(x + side / 2, y + 21, there ? tile[k] : "", "cell on"));
  });
  out.push(rect(1, foot, TILE * side, 34, "edge"));
  const [x, y] = width >= 560 ? [half + 28, foot] : [1, foot + 74];
  panel(x, y, `Numba: block ${block} has ${TILE} threads`, (left, down, k) => {
    const there = threads[k] !== null;
    out.push(rect(left + 2, down, side - 4, 34, there ? "thread" : "idle", { rx: 5 }));
    out.push(text(left + side / 2, down + 21, there ? threads[k] : "–", "cell"));
  });
  const missing = owners.filter((owner) => owner === null).length;
  const padded = tile.filter((element) => element === null).length;
  return {
    code: [
      line("cuTile", `ct.load(x, index=(${mistaken ? `i * TILE` : "i"},), shape=(TILE,))`, `index ${index}`),
      line("Numba", "i = cuda.grid(1);  if i < x.size: … x[i]", `i is ${block * TILE} to ${block * TILE + TILE - 1}`),
    ],
    picture: picture(width, y + 38, out),
    numbers: [
      [number(count), "blocks"],
      [number(padded), "elements of the tile are outside", padded === TILE && "bad"],
      [number(missing), "elements are stored by no block", missing > 0 && "bad"],
    ],
    said: words(state, index, padded),
  };
}

const line = (name, code, value) =>
  h("div", {}, `${name}: `, h("code", {}, code), ` ${value}`);

function words({ block, mistaken }, index, padded) {
  if (mistaken && block > 0)
    return `Tile ${index} would begin at element ${index * TILE}, outside the array. What is loaded is undefined, and nothing is stored.`;
  if (mistaken && block === 0) return "In block 0 the mistake does not show: tile 0 begins at element 0 in any case.";
  if (padded)
    return `The tile reaches past the end. Its last ${padded === 1 ? "element is" : `${padded} elements are`} padding, which the store leaves out. In Numba, the guard keeps ${padded === 1 ? "one thread" : `${padded} threads`} from working.`;
  return "The tile has the elements that the threads of the block have. Which thread of a cuTile block holds which of them is the compiler's choice.";
}

export default figure({
  defaults: { n: 21, block: 2, mistaken: false },
  fit: (state) => ({ ...state, block: Math.min(state.block, blocks(state.n, TILE) - 1) }),
  controls: [
    {
      kind: "choice",
      key: "mistaken",
      label: "The index is",
      options: [
        [false, "i"],
        [true, "i * TILE"],
      ],
    },
    { kind: "range", key: "block", label: "block", max: ({ n }) => blocks(n, TILE) - 1 },
    { kind: "range", key: "n", label: "elements", min: 9, max: MOST },
  ],
  draw,
});
