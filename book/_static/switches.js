// Kernels with switches: show the lines and the verdict of what is switched on.
"use strict";

for (const box of document.querySelectorAll(".weft-switches")) {
  const switches = [...box.querySelectorAll("input")];
  const show = () => {
    const on = switches.filter((s) => s.checked).map((s) => s.value);
    for (const line of box.querySelectorAll("[data-when]")) {
      line.hidden = !line.dataset.when
        .split(" ")
        .every((word) =>
          word.startsWith("!") ? !on.includes(word.slice(1)) : on.includes(word),
        );
    }
    for (const verdict of box.querySelectorAll("[data-state]")) {
      verdict.hidden = verdict.dataset.state !== on.join(" ");
    }
  };
  for (const each of switches) each.addEventListener("change", show);
  show(); // the browser may have kept what was switched before
}
