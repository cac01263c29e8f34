"use strict";
// Whatever is wider than its box shows at which side there is more of it.
const scrolls = (() => {
  const boxes = () => document.querySelectorAll(".scroll, .panels");
  function mark(box) {
    const more = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more", more - box.scrollLeft > 4);
    box.classList.toggle("less", box.scrollLeft > 4);
    // What scrolls must be reached by the keyboard.
    if (more > 4 && !box.hasAttribute("tabindex")) box.setAttribute("tabindex", "0");
  }
  function watch() {
    for (const box of boxes()) { mark(box); box.addEventListener("scroll", () => mark(box), { passive: true }); }
    addEventListener("resize", () => boxes().forEach(mark));
    addEventListener("toggle", () => boxes().forEach(mark), true);
    addEventListener("change", () => setTimeout(() => boxes().forEach(mark)));
  }
  return { watch };
})();
