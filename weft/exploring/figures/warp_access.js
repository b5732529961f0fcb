// One request of a warp on a map of memory: the sectors it moves, the bytes it uses.

import { counted, figure, h, hatch, number, picture, rect, text } from "./figure.js";
import {
  LINE,
  SECTOR,
  arrayOfStructs,
  lines,
  strided,
  structOfArrays,
  touched,
} from "./counting.js";

const FIELDS = "xyzwuvst";
const most = ({ size, rows }) => Math.min(32, (rows * LINE) / (32 * size));

const array = (state) => state.layout === "array";

function addressesOf({ layout, stride, offset, fields, field, size }) {
  if (layout === "aos") return arrayOfStructs(fields, field, size);
  if (layout === "soa") return structOfArrays(field, size);
  return strided(stride, offset, size);
}

function expression({ layout, stride, offset, field }) {
  if (layout === "aos") return `p[lane].${FIELDS[field]}`;
  if (layout === "soa") return `${FIELDS[field]}[lane]`;
  const product = { 0: "", 1: "lane" }[stride] ?? `${stride} * lane`;
  return `x[${[product, offset || ""].filter(Boolean).join(" + ") || "0"}]`;
}

/** The lines that the map shows: `rows`, or what was touched if that is more. */
function linesOf(addresses, size, rows, traced) {
  const hit = touched(addresses, size, LINE);
  const first = traced ? hit[0] : 0;
  const span = Math.max(hit.at(-1) - first + 1, traced ? 4 : rows);
  return traced && span > 32 ? hit : Array.from({ length: span }, (_, i) => first + i);
}

/** Draw a request; a trace's has `addresses` and `lanes` of its own. */
export function draw(state, width) {
  const { size, layout, fields } = state;
  const addresses = state.addresses ?? addressesOf(state);
  const shown = linesOf(addresses, size, state.rows, Boolean(state.addresses));
  const wide = width >= 560;
  const margin = wide ? (state.addresses ? 68 : 46) : 0;
  const gap = wide ? 5 : 3;
  const row = wide ? 13 : 12;
  const byte = (width - margin - 3 * gap - 1) / LINE;
  const tops = new Map();
  let y = 18;
  shown.forEach((line, i) => {
    if (i && line !== shown[i - 1] + 1) y += 7; // lines in between are left out
    tops.set(line, y);
    y += row + 2;
  });
  const place = (address) => {
    const inside = address % LINE;
    const x = margin + inside * byte + Math.floor(inside / SECTOR) * gap;
    return [x, tops.get(Math.floor(address / LINE))];
  };

  const moved = new Set(touched(addresses, size, SECTOR));
  const children = [];
  for (let sector = 0; sector < 4; sector++) {
    const [x] = place(shown[0] * LINE + sector * SECTOR);
    const label = wide ? `sector ${sector}` : sector ? "" : "4 sectors per line";
    children.push(text(x, 11, label, "soft"));
  }
  shown.forEach((line, i) => {
    const top = tops.get(line);
    if (wide && (i % 4 === 0 || line !== shown[i - 1] + 1))
      children.push(text(margin - 8, top + row - 3, number(line * LINE), "soft end"));
    for (let sector = 0; sector < 4; sector++) {
      const at = line * LINE + sector * SECTOR;
      const [x] = place(at);
      const hit = moved.has(at / SECTOR);
      children.push(rect(x, top, SECTOR * byte, row, hit ? "moved" : "empty"));
      if (hit) children.push(hatch(x, top, SECTOR * byte, row, "hatch waste", 6));
    }
  });

  const letters = layout !== "array" && size * byte > 8.5 && size * byte < 60;
  if (letters) {
    for (let i = 0; i < 32 * fields; i++) {
      const [x, y] = place(i * size);
      const field = layout === "aos" ? i % fields : Math.floor(i / 32);
      if (field === state.field || y === undefined) continue;
      const kind = moved.has(Math.floor((i * size) / SECTOR)) ? "letter held" : "letter";
      children.push(text(x + (size * byte) / 2, y + row - 3, FIELDS[field], kind));
    }
  }

  const shared = new Set(addresses).size === 1;
  addresses.forEach((address, i) => {
    const lane = state.lanes?.[i] ?? i;
    const [x, y] = place(address);
    children.push(rect(x + 0.5, y, size * byte - 1, row, "used"));
    if (size * byte > 14 && (!shared || i === 0)) {
      const words = shared ? "all" : lane;
      children.push(text(x + (size * byte) / 2, y + row - 3, words, "in"));
    }
  });

  const sectors = moved.size;
  const crossed = lines(addresses, size);
  const bytes = sectors * SECTOR;
  const used = touched(addresses, size, 1).length;
  const share = used / bytes;
  const fewest = Math.ceil(used / SECTOR);
  const verdict =
    sectors > fewest
      ? `${counted(fewest, "sector")} would be enough: ${number(100 - 100 * share, 1)} % of ` +
        "the bytes moved are not used."
      : share < 1
        ? "No other arrangement of these bytes needs fewer."
        : "Every byte that is moved is used.";
  return {
    code: state.code ?? [h("span", {}, "Each lane reads "), h("code", {}, expression(state))],
    picture: picture(width, y, children),
    numbers: [
      [number(sectors), sectors === 1 ? "sector" : "sectors", sectors > fewest && "bad"],
      [number(crossed), crossed === 1 ? "line" : "lines"],
      [`${number(bytes)} B`, "moved", "is-moved"],
      [`${number(used)} B`, "used", "is-used"],
      [`${number(100 * share, 1)} %`, "used / moved", share < 1 && "bad"],
    ],
    said: `The warp asks for ${counted(used, "byte")}, and memory moves ${counted(sectors, "sector")}. ${verdict}`,
  };
}

export default figure({
  // rows: lines of 128 bytes on the map, of which 32 are 4 KB
  defaults: { layout: "array", stride: 1, offset: 0, size: 4, fields: 4, field: 0, rows: 32 },
  fit: (state) => ({
    ...state,
    stride: Math.min(state.stride, most(state)),
    field: Math.min(state.field, state.fields - 1),
  }),
  controls: [
    {
      kind: "choice",
      key: "layout",
      label: "Data",
      options: [
        ["array", "array"],
        ["aos", "array of structs"],
        ["soa", "struct of arrays"],
      ],
    },
    {
      kind: "choice",
      key: "size",
      label: "Bytes per element",
      options: [1, 2, 4, 8, 16].map((size) => [size, String(size)]),
    },
    {
      kind: "range",
      key: "stride",
      label: "stride",
      max: most,
      when: (state) => array(state),
    },
    {
      kind: "range",
      key: "offset",
      label: "offset",
      max: 31,
      when: (state) => array(state),
    },
    {
      kind: "range",
      key: "fields",
      label: "fields in a struct",
      min: 1,
      max: 8,
      when: (state) => !array(state),
    },
    {
      kind: "range",
      key: "field",
      label: "field read",
      max: (state) => state.fields - 1,
      text: (field) => FIELDS[field],
      when: (state) => !array(state),
    },
  ],
  draw,
});
