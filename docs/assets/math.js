// Typesets what pymdownx.arithmatex marks: \(…\) inline and \[…\] as display, with the bundled KaTeX.
document$.subscribe(() => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const marked = element.textContent.trim();
    katex.render(marked.slice(2, -2), element, {
      displayMode: marked.startsWith("\\["),
      throwOnError: false,
    });
  }
});
