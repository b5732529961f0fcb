// Code and formulas wider than the page scroll: the keyboard can reach them then.
(function () {
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
    }
  });

  addEventListener("load", () => {
    const wide = ".bd-article :is(pre, .weft-formula)";
    for (const box of document.querySelectorAll(wide)) sizes.observe(box);
  });
})();
