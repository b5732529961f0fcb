// Attainable arithmetic over arithmetic intensity: which of two ceilings is the limit.

import { axisBottom, axisLeft, scaleLog, select } from "./d3.js";
import { figure, number, picture, rect, s, text } from "./figure.js";

const FROM = 1 / 64; // FLOP per byte, at the ends of the axis
const TO = 1024;

/** Words a number in three digits with a prefix: 3.39 T. */
export function short(value) {
  const prefixes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const [size, prefix] = prefixes.find(([size]) => value >= size) ?? [1, ""];
  const scaled = value / size;
  return `${number(scaled, scaled < 10 ? 2 : scaled < 100 ? 1 : 0)} ${prefix}`;
}

const per = (value) => number(value, value < 0.1 ? 3 : value < 10 ? 2 : 0);

export const attainable = ({ bandwidth, peak }, intensity) =>
  Math.min(peak, bandwidth * intensity);

/** FLOP per second of a kernel, given as such or by the bytes that it moves. */
const rateOf = (kernel) => kernel.flops ?? kernel.bytes * kernel.intensity;

function shape(i, x, y, kind) {
  const forms = [
    () => s("circle", { cx: x, cy: y, r: 6 }),
    () => rect(x - 5.5, y - 5.5, 11, 11, ""),
    () => s("path", { d: `M${x} ${y - 7}l7 12h-14z` }),
    () => s("path", { d: `M${x} ${y - 8}l7 8l-7 8l-7 -8z` }),
  ];
  const node = forms[i % forms.length]();
  node.setAttribute("class", kind);
  return node;
}

function frame(width) {
  const wide = width >= 560;
  const [left, top, bottom] = wide ? [62, 14, 44] : [40, 54, 44];
  const height = wide ? 330 : 310;
  return { wide, left, top, right: width - 15, bottom: height - bottom, height };
}

function scales(state, width) {
  const { left, right, top, bottom } = frame(width);
  const high = 10 ** Math.ceil(Math.log10(state.peak * 1.2));
  const rates = state.kernels.map(rateOf);
  const low = 10 ** Math.floor(Math.log10(Math.min(state.bandwidth * FROM, ...rates)));
  return [
    scaleLog([FROM, TO], [left, right]).base(2),
    scaleLog([low, high], [bottom, top]),
  ];
}

function draw(state, width) {
  const { wide, left, right, top, bottom, height } = frame(width);
  const { bandwidth, peak, intensity } = state;
  const [x, y] = scales(state, width);
  const ridge = peak / bandwidth;
  const reach = attainable(state, intensity);
  const bound = intensity < ridge ? "memory" : "arithmetic";

  const below = s("g", { class: "axis", transform: `translate(0 ${bottom})` });
  const every = width < 300 ? 16 : 4;
  const ticks = [];
  for (let v = FROM; v <= TO; v *= every) ticks.push(v);
  select(below).call(
    axisBottom(x)
      .tickValues(ticks)
      .tickSize(-(bottom - top))
      .tickPadding(8)
      .tickFormat((v) => (v < 1 ? `1/${Math.round(1 / v)}` : String(v))),
  );
  const beside = s("g", { class: "axis", transform: `translate(${left} 0)` });
  const powers = [];
  for (let v = y.domain()[0]; v <= y.domain()[1] * 1.01; v *= 10) powers.push(v);
  select(beside).call(
    axisLeft(y)
      .tickValues(powers)
      .tickSize(-(right - left))
      .tickPadding(6)
      .tickFormat((v) => short(v).replace(" ", wide ? " " : "")),
  );

  const roof = `M${x(FROM)} ${y(bandwidth * FROM)}L${x(ridge)} ${y(peak)}H${x(TO)}`;
  const memory = `${state.memory} ${short(bandwidth)}B/s`;
  const arithmetic = `${state.arithmetic} ${short(peak)}FLOP/s`;
  const slope = (Math.atan2(y(peak) - y(bandwidth), x(ridge) - x(1)) * 180) / Math.PI;
  const on = x(state.at);
  const out = [
    below,
    beside,
    s("path", { d: `${roof}V${bottom}H${left}Z`, class: "under" }),
    s("path", { d: roof, class: "roof" }),
    // On a narrow screen the ceilings have no room for their names: a key has.
    wide
      ? [
          text(0, 0, memory, "mid strong", {
            transform: `translate(${on} ${y(bandwidth * x.invert(on)) - 15}) rotate(${slope})`,
          }),
          text(right - 4, y(peak) - 9, arithmetic, "end strong"),
        ]
      : [
          s("path", { d: "M1 14l14 -11", class: "roof" }),
          text(24, 13, memory, "strong"),
          s("path", { d: "M1 26h14", class: "roof" }),
          text(24, 30, arithmetic, "strong"),
        ],
    text(right, height - 4, "FLOP per byte moved", "soft end"),
    text(left + 4, top - 4, "FLOP/s", "soft"),
    s("path", { d: `M${x(intensity)} ${bottom}V${y(reach)}`, class: "probe" }),
    s("circle", { cx: x(intensity), cy: y(reach), r: 9, class: "hot" }),
  ];
  state.kernels.forEach((kernel, i) => {
    const at = [x(kernel.intensity), y(rateOf(kernel))];
    out.push(shape(i, ...at, "point"));
    out.push(text(at[0] + 12, at[1] + 14, kernel.name, "tag plain"));
  });
  return {
    picture: picture(width, height, out),
    numbers: [
      [per(intensity), "FLOP per byte"],
      [`${short(reach)}FLOP/s`, "at most"],
      [`${per((100 * reach) / peak)} %`, "of peak arithmetic", reach < peak / 2 && "bad"],
    ],
    said:
      bound === "memory"
        ? `Memory is the limit. Below ${per(ridge)} FLOP per byte, every byte that you avoid moving makes the kernel faster.`
        : `Arithmetic is the limit. Above ${per(ridge)} FLOP per byte, moving fewer bytes does not help.`,
  };
}

export default figure({
  defaults: {
    bandwidth: 4.2e12,
    peak: 67e12,
    memory: "memory:",
    arithmetic: "arithmetic:",
    intensity: 1 / 12,
    at: 1 / 3, // where the name of the memory stands, FLOP per byte
    kernels: [],
  },
  controls: [
    {
      kind: "range",
      key: "intensity",
      label: "FLOP per byte",
      min: Math.log2(FROM),
      max: Math.log2(TO),
      step: 0.125,
      from: Math.log2,
      to: (power) => 2 ** power,
      text: per,
    },
  ],
  draw,
  drag(state, at, width) {
    const [x] = scales(state, width);
    return { intensity: Math.min(TO, Math.max(FROM, x.invert(at))) };
  },
});
