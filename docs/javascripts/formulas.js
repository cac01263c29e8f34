// Every formula of a page is set by KaTeX, which lies beside this file: nothing is loaded from elsewhere.
for (const place of document.querySelectorAll(".arithmatex")) {
  const marked = place.textContent; // \( … \) in a line, \[ … \] on its own
  katex.render(marked.slice(2, -2), place, { displayMode: marked.startsWith("\\["), throwOnError: false });
}
