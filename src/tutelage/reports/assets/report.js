// Typesets formulas with the bundled KaTeX, and filters the table of verdicts.
for (const element of document.querySelectorAll(".math")) {
  katex.render(element.textContent, element, { throwOnError: false });
}

const table = document.getElementById("claims");
if (table) {
  const rows = [...table.tBodies[0].rows];
  const search = document.getElementById("search");
  const paper = document.getElementById("paper");
  const standing = document.getElementById("standing");
  const kind = document.getElementById("kind");
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const update = () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach((row, i) => {
      const visible =
        texts[i].includes(wanted) &&
        (!paper.value || row.dataset.paper === paper.value) &&
        (!standing.value || row.dataset.standing === standing.value) &&
        (!kind.value || row.dataset.kind === kind.value);
      row.hidden = !visible;
      shown += visible;
    });
    document.getElementById("shown").textContent = `${shown} of ${rows.length}`;
  };
  for (const control of [search, paper, standing, kind]) control.addEventListener("input", update);
  // A link to the table sets its filters: what the link does not name is shown.
  for (const link of document.querySelectorAll("a[data-standing], a[data-paper]")) {
    link.addEventListener("click", () => {
      [search.value, kind.value] = ["", ""];
      standing.value = link.dataset.standing ?? "";
      paper.value = link.dataset.paper ?? "";
      update();
    });
  }
  update();
}
