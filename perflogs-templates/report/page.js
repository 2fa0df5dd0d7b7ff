// SPDX-License-Identifier: BSD-3-Clause
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("provenance-data").textContent);
  const popover = document.getElementById("popover");
  let owner = null;
  let pinned = false;

  function list(numbers) {
    const out = document.createElement("dl");
    for (let i = 0; i < numbers.length; i += 2) {
      for (const [tag, number] of [["dt", numbers[i]], ["dd", numbers[i + 1]]]) {
        const item = document.createElement(tag);
        item.textContent = data.texts[number]; // never markup
        out.append(item);
      }
    }
    return out;
  }

  function hide() {
    if (!owner) return;
    owner.removeAttribute("aria-describedby");
    owner.classList.remove("shown");
    owner = null;
    pinned = false;
    popover.hidden = true;
  }

  function show(element, pin) {
    if (owner !== element) {
      hide();
      const [place, ...own] = data.values[Number(element.dataset.p)];
      popover.replaceChildren(list(own), list(data.cases[place]));
      popover.hidden = false;
      owner = element;
      element.setAttribute("aria-describedby", "popover");
      element.classList.add("shown");
      const box = element.getBoundingClientRect();
      const root = document.documentElement;
      const left = Math.max(8, Math.min(box.left, root.clientWidth - popover.offsetWidth - 8));
      const below = box.bottom + 6 + popover.offsetHeight <= root.clientHeight || box.top < popover.offsetHeight + 6;
      popover.style.left = `${left + window.scrollX}px`;
      popover.style.top = `${(below ? box.bottom + 6 : box.top - popover.offsetHeight - 6) + window.scrollY}px`;
    }
    pinned = pin || pinned;
  }

  const of = (target) => (target instanceof Element ? target.closest("[data-p]") : null);
  const leaves = (event) => !pinned && owner && !(event.relatedTarget instanceof Node
    && (popover.contains(event.relatedTarget) || owner.contains(event.relatedTarget)));

  document.addEventListener("mouseover", (event) => {
    const element = of(event.target);
    if (element && !pinned) show(element, false);
  });
  document.addEventListener("mouseout", (event) => {
    if ((of(event.target) === owner || popover.contains(event.target)) && leaves(event)
        && document.activeElement !== owner) hide();
  });
  document.addEventListener("focusin", (event) => {
    const element = of(event.target);
    if (element) show(element, false);
    else if (!popover.contains(event.target)) hide();
  });
  document.addEventListener("focusout", (event) => { if (of(event.target) === owner && leaves(event)) hide(); });
  document.addEventListener("click", (event) => {
    const element = of(event.target);
    if (element && element === owner && pinned) hide();
    else if (element) { hide(); show(element, true); }
    else if (!popover.contains(event.target)) hide();
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  const theme = document.getElementById("theme");
  const root = document.documentElement;
  const prefers = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefers.matches);
  function label() {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(isDark()));
    theme.setAttribute("aria-label", "Dark colours");
  }
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  prefers.addEventListener("change", label);
  label();
})();
