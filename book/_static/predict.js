// A prediction covers the measurement after it: see predict.css. Its button opens it.
(function () {
  const MEASURED =
    ".weft-gpus, .weft-ladder, .weft-cloth, .weft-curve, .weft-drawing, " +
    "[class*=highlight-text], .pst-scrollable-table-container";
  for (const question of document.querySelectorAll(".weft-predict")) {
    const measured = question.nextElementSibling;
    if (!measured?.matches(MEASURED)) continue;
    const show = document.createElement("button");
    show.type = "button";
    show.className = "weft-show";
    show.textContent = "Predict first, or show me";
    show.addEventListener("click", () => {
      question.open = true;
      question.firstElementChild.focus();
    });
    measured.classList.add("weft-asked");
    measured.prepend(show);
  }
})();
