// Tables of several GPUs: what is picked in one is picked in all, and remembered.
(function () {
  const KEY = "weft-gpu";
  let picked;

  function pick(gpu, within = document) {
    for (const button of within.querySelectorAll(".weft-gpus > input"))
      if (button.value === gpu) button.checked = true;
  }

  // Rows that a script is about to show: see evidence.js.
  document.addEventListener("weft-rows", ({ detail }) => pick(picked, detail));

  document.addEventListener("change", ({ target }) => {
    if (!target.matches(".weft-gpus > input")) return;
    const before = target.getBoundingClientRect().top;
    picked = target.value;
    pick(picked);
    // The tables above may have become longer: stay at the one that was used.
    window.scrollBy(0, target.getBoundingClientRect().top - before);
    try {
      localStorage.setItem(KEY, target.value);
    } catch {} // a page opened as a file may have no storage
  });

  try {
    picked = localStorage.getItem(KEY);
    pick(picked);
  } catch {}
})();
