// Typesets formulas with the bundled KaTeX, filters statements, opens what a link leads to, and copies.
for (const element of document.querySelectorAll(".math")) {
  katex.render(element.textContent, element, { throwOnError: false });
}

// A place in the page may be followed by filters, as in #verdicts?standing=fails&words=norm.
const bar = document.querySelector(".filters");
if (bar) {
  const rows = [...document.querySelectorAll(bar.dataset.rows)];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const filters = [...bar.querySelectorAll("[data-filter]")];
  const heading = bar.closest("main").querySelector("#verdicts, #statements");
  const groups = [...document.querySelectorAll("details.group")];
  const update = () => {
    let shown = 0;
    rows.forEach((row, i) => {
      const visible = filters.every(({ dataset: { filter }, value }) =>
        filter === "words" ? texts[i].includes(value.trim().toLowerCase()) : !value || row.dataset[filter] === value,
      );
      row.hidden = !visible;
      shown += visible;
    });
    // A filter opens the lists in which it has found something.
    const filtered = filters.some(({ value }) => value);
    for (const group of groups) {
      group.hidden = !group.querySelector("tbody tr:not([hidden])");
      group.open = filtered;
    }
    bar.querySelector(".shown").textContent = `${shown} of ${rows.length}`;
  };
  // What the address does not name is shown.
  const apply = (text) => {
    const wanted = new URLSearchParams(text);
    for (const filter of filters) filter.value = wanted.get(filter.dataset.filter) ?? "";
    update();
  };
  for (const filter of filters) {
    filter.addEventListener("input", () => {
      update();
      const chosen = filters.filter(({ value }) => value).map((one) => [one.dataset.filter, one.value]);
      history.replaceState(null, "", `#${heading.id}${chosen.length ? `?${new URLSearchParams(chosen)}` : ""}`);
    });
  }
  const follow = () => {
    const [, id, text] = /^#([^?]*)\??(.*)$/.exec(location.hash) ?? [null, "", ""];
    if (id !== heading.id) return;
    apply(text);
    heading.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  update();
  follow();
}

// A link to a statement opens it, also where a filter hides it.
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const section = target?.closest("section.claim");
  if (!section) return;
  section.hidden = false;
  section.querySelector("details").open = true;
  section.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
document.getElementById("open-all")?.addEventListener("click", ({ target }) => {
  const open = target.textContent === "Open all";
  for (const details of document.querySelectorAll("section.claim > details")) details.open = open;
  target.textContent = open ? "Close all" : "Open all";
});

for (const code of document.querySelectorAll("pre > code, .command > code")) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "copy", textContent: "Copy" });
  const text = code.textContent;
  button.addEventListener("click", () => tutelageTheme.copyFrom(button, text));
  code.after(button);
}
