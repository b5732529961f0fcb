// Groups of rows: an address inside one opens it, and a box filters the rows of all.
(function () {
  const groups = [...document.querySelectorAll("details.weft-group")].map((all) => ({
    all,
    section: all.closest("section"),
    rows: [...all.querySelectorAll("tbody tr")].map((row) => ({ row, text: "" })),
    parts: [...all.querySelectorAll(".weft-part")],
  }));

  // Opening by address: that of a section, of a group, or of anything inside.
  function arrive() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const alone = groups.filter(({ section }) => section === target);
    const found =
      groups.find(({ all }) => all.contains(target)) ||
      (alone.length === 1 ? alone[0] : undefined);
    if (!found || found.all.open) return;
    found.all.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", arrive);
  arrive();

  const box = document.querySelector(".weft-filter");
  if (!box) return;
  const [input, button, said] = box.querySelectorAll("input, button, output");
  const total = groups.reduce((sum, { rows }) => sum + rows.length, 0);
  const number = (n) => n.toLocaleString("en");

  // What a row can be found by: the heading of its section, its part, and its cells.
  function read() {
    for (const { all, section, rows } of groups) {
      const heading = `${section.querySelector("h1, h2, h3, h4").textContent} ${
        all.firstElementChild.textContent
      }`;
      for (const one of rows) {
        const part = one.row.closest(".weft-part")?.firstElementChild.textContent ?? "";
        one.text = `${heading} ${part} ${one.row.textContent}`.toLowerCase();
      }
    }
  }

  function filter() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !groups[0].rows[0].text) read();
    let shown = 0;
    for (const { all, rows, parts } of groups) {
      let here = 0;
      for (const { row, text } of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        here += !row.hidden;
      }
      for (const part of parts) part.hidden = !part.querySelector("tbody tr:not([hidden])");
      all.hidden = !here;
      all.open = words.length > 0 && here > 0;
      shown += here;
    }
    const sections = new Set(groups.map(({ section }) => section));
    for (const section of sections)
      section.hidden = !section.querySelector("details.weft-group:not([hidden])");
    const rows = box.dataset.rows;
    said.textContent = words.length
      ? `${number(shown)} of ${number(total)} ${rows}`
      : `${number(total)} ${rows}`;
    name();
  }

  const closed = () => groups.some(({ all }) => !all.hidden && !all.open);
  const name = () => (button.textContent = closed() ? "Open all" : "Close all");
  button.addEventListener("click", () => {
    const open = closed();
    for (const { all } of groups) all.open = open;
    name();
  });
  let due;
  input.addEventListener("input", () => {
    clearTimeout(due);
    due = setTimeout(filter, 120); // when typing pauses
  });
  box.hidden = false;
  said.textContent = `${number(total)} ${box.dataset.rows}`;
})();
