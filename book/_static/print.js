// Paper is white: a page is printed in its light theme, whatever the screen shows.
(function () {
  const { dataset } = document.documentElement;
  const paper = matchMedia("print");
  let shown;

  function turn() {
    if (paper.matches && shown === undefined) {
      shown = dataset.theme;
      dataset.theme = "light";
    } else if (!paper.matches && shown !== undefined) {
      dataset.theme = shown;
      shown = undefined;
    }
  }

  paper.addEventListener("change", turn);
  turn();
})();
