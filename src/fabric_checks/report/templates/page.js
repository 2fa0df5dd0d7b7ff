// SPDX-License-Identifier: BSD-3-Clause
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("provenance-data").textContent);
  const popover = document.getElementById("popover");
  let owner = null;
  let pinned = false;

  function list(facts) {
    const out = document.createElement("dl");
    for (const [name, text] of Object.entries(facts)) {
      const [dt, dd] = ["dt", "dd"].map((tag) => document.createElement(tag));
      dt.textContent = name; // never markup
      dd.textContent = text;
      out.append(dt, dd);
    }
    return out;
  }

  function origin(number) {
    const [where, facts] = data.values[number];
    return [list(data.facts[facts]), list(data.cases[where])];
  }

  function hide() {
    if (!owner) return;
    owner.removeAttribute("aria-describedby");
    owner.classList.remove("shown");
    ring.remove();
    owner = null;
    pinned = false;
    popover.hidden = true;
  }

  // Points of lines. A line is one element that knows its series; its points are told apart by where they are.
  const sizeText = (bytes) => {
    for (const [unit, factor] of [["M", 1048576], ["K", 1024]]) {
      if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${unit}`;
    }
    return String(bytes);
  };
  const acrossText = (kind, at) => (kind === "size" ? `${sizeText(at)} B`
    : kind === "time" ? new Date(at * 86400000).toISOString().slice(0, 16).replace("T", " ") : String(at));

  function describe(number, at) {
    const [label, unit, kind, places, values, numbers] = data.series[number];
    const axis = { size: "message size", time: "run", count: "number" }[kind];
    const value = `${values[at]}${unit === "1" ? "" : ` ${unit}`}`;
    return [list({ line: label, [axis]: acrossText(kind, places[at]), value }), ...origin(numbers[at])];
  }

  const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  ring.setAttribute("r", "5");
  ring.setAttribute("class", "ring");

  function pointOf(line, at) {
    const { x, y } = line.points.getItem(at);
    return { line, at, x, y };
  }

  function nearest(plot, event) {
    const matrix = plot.getScreenCTM();
    if (!matrix) return null;
    const mouse = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    let best = null;
    let least = 24 * 24;
    for (const line of plot.querySelectorAll("polyline[data-s]")) {
      for (let at = 0; at < line.points.numberOfItems; at += 1) {
        const { x, y } = line.points.getItem(at);
        const distance = (x - mouse.x) ** 2 + (y - mouse.y) ** 2;
        if (distance < least) {
          least = distance;
          best = pointOf(line, at);
        }
      }
    }
    return best;
  }

  function showPoint(point, pin) {
    const plot = point.line.ownerSVGElement;
    if (owner !== ring || ring.place !== point.line || ring.at !== point.at) {
      hide();
      ring.setAttribute("cx", point.x);
      ring.setAttribute("cy", point.y);
      ring.place = point.line;
      ring.at = point.at;
      plot.append(ring);
      place(ring, describe(Number(point.line.dataset.s), point.at));
    }
    pinned = pin || pinned;
  }

  function show(element, pin) {
    if (owner !== element) {
      hide();
      element.setAttribute("aria-describedby", "popover");
      element.classList.add("shown");
      place(element, origin(Number(element.dataset.p)));
    }
    pinned = pin || pinned;
  }

  function place(element, lists) {
      popover.replaceChildren(...lists);
      popover.hidden = false;
      owner = element;
      const box = element.getBoundingClientRect();
      const root = document.documentElement;
      const left = Math.max(8, Math.min(box.left, root.clientWidth - popover.offsetWidth - 8));
      const below = box.bottom + 6 + popover.offsetHeight <= root.clientHeight || box.top < popover.offsetHeight + 6;
      popover.style.left = `${left + window.scrollX}px`;
      popover.style.top = `${(below ? box.bottom + 6 : box.top - popover.offsetHeight - 6) + window.scrollY}px`;
  }

  const plotOf = (target) => (target instanceof Element ? target.closest("svg.plot") : null);
  const of = (target) => (target instanceof Element ? target.closest("[data-p]") : null);
  const leaves = (event) => !pinned && owner && !(event.relatedTarget instanceof Node
    && (popover.contains(event.relatedTarget) || owner.contains(event.relatedTarget)));

  document.addEventListener("mouseover", (event) => {
    const element = of(event.target);
    if (element && !pinned) show(element, false);
  });
  document.addEventListener("mousemove", (event) => {
    const plot = plotOf(event.target);
    if (!plot || pinned) return;
    const point = nearest(plot, event);
    if (point) showPoint(point, false);
    else if (owner === ring) hide();
  });
  document.addEventListener("mouseout", (event) => {
    if ((of(event.target) === owner || (owner === ring && plotOf(event.target)) || popover.contains(event.target)) && leaves(event)
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
    const plot = plotOf(event.target);
    const point = plot && nearest(plot, event);
    if (point) {
      const again = pinned && owner === ring && ring.place === point.line && ring.at === point.at;
      hide();
      if (!again) showPoint(point, true);
    } else if (element && element === owner && pinned) hide();
    else if (element) { hide(); show(element, true); }
    else if (!popover.contains(event.target)) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const panels = event.target instanceof Element && event.target.matches(".panels[tabindex]") ? event.target : null;
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (!panels || !step) return;
    event.preventDefault();
    const lines = [...panels.querySelectorAll("polyline[data-s]")];
    let number = owner === ring ? lines.indexOf(ring.place) : -1;
    let at = number < 0 ? 0 : ring.at + step[0];
    number = number < 0 ? 0 : Math.min(Math.max(number + step[1], 0), lines.length - 1);
    at = Math.min(Math.max(at, 0), lines[number].points.numberOfItems - 1);
    lines[number].ownerSVGElement.scrollIntoView({ block: "nearest" });
    showPoint(pointOf(lines[number], at), false);
  });

  // The data of a figure as tables, made when it is asked for: a row a place, a column a line.
  function tableOf(plot) {
    const shown = [...plot.querySelectorAll("polyline[data-s]")].map((line) => data.series[Number(line.dataset.s)]);
    const table = document.createElement("table");
    table.createCaption().textContent = plot.getAttribute("aria-label");
    const cell = (row, tag, text, scope) => {
      const made = document.createElement(tag);
      made.textContent = text;
      if (scope) made.scope = scope;
      row.append(made);
    };
    const head = table.createTHead().insertRow();
    const kind = shown[0][2];
    cell(head, "th", { size: "message size, B", time: "run (UTC)", count: "number" }[kind], "col");
    for (const series of shown) cell(head, "th", `${series[0]}, ${series[1]}`, "col");
    const body = table.createTBody();
    const places = [...new Set(shown.flatMap((series) => series[3]))].sort((a, b) => a - b);
    for (const at of places) {
      const row = body.insertRow();
      cell(row, "th", acrossText(kind, at).replace(/ B$/, ""), "row");
      for (const series of shown) {
        const index = series[3].indexOf(at);
        cell(row, "td", index < 0 ? "" : String(series[4][index]));
      }
    }
    const box = document.createElement("div");
    box.className = "box";
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", table.caption.textContent);
    box.append(saving(table, "figure"), table);
    return box;
  }
  document.addEventListener("toggle", (event) => {
    const details = event.target;
    if (!(details instanceof HTMLDetailsElement) || !details.matches(".series") || details.dataset.made) return;
    details.dataset.made = "yes";
    details.append(...[...details.closest("figure").querySelectorAll("svg.plot")].map(tableOf));
  }, true);

  // A table is saved as it is shown, but for sparklines and marks.
  function save(name, rows) {
    const cell = (text) => {
      // To a spreadsheet such a text would be a formula.
      const plain = /^[=+@-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
      return /[",\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
    };
    const lines = rows.map((row) => `${row.map((text) => cell(String(text))).join(",")}\r\n`);
    const link = document.createElement("a");
    link.download = `${name}.csv`;
    link.href = URL.createObjectURL(new Blob(lines, { type: "text/csv" }));
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  const textOf = (cell) => (cell.querySelector(".value") || cell).textContent.trim();
  function saving(table, name, rows) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = "CSV";
    button.setAttribute("aria-label", `Save as CSV: ${table.caption.textContent.trim()}`);
    button.addEventListener("click", () => save(name, rows || [...table.rows].map((row) => [...row.cells].map(textOf))));
    return button;
  }
  for (const table of document.querySelectorAll("main table")) table.before(saving(table, table.id));

  // The values that are chosen by words, check, machine and size. The choice is in the address, to be sent on.
  const find = document.getElementById("find");
  const fields = {};
  for (const name of ["text", "check", "place", "size"]) fields[name] = document.getElementById(`find-${name}`);
  const columns = ["test", "metric", "place", "size", "value", "unit"];
  const MOST = 100;
  function allValues() {
    const found = new Map();
    const points = new Set();
    const add = (number, size, value, unit) => {
      const [where, facts] = data.values[number];
      const { machine: place, test } = data.cases[where];
      const one = { number, test, check: test.split(" ")[0], metric: data.facts[facts].metric, place, size, value, unit };
      one.words = columns.map((name) => one[name]).join(" ").toLowerCase();
      found.set(`${number} ${size}`, one);
    };
    for (const kind of ["size", "count"]) {
      for (const [, unit, own, places, medians, numbers] of data.series) {
        numbers.forEach((number, at) => {
          if (own !== kind || (kind === "count" && points.has(number))) return;
          if (kind === "size") points.add(number);
          add(number, kind === "size" ? places[at] : "", medians[at], unit);
        });
      }
    }
    for (const button of document.querySelectorAll(".block[data-check] .value")) {
      add(Number(button.dataset.p), "", button.textContent, button.dataset.u);
    }
    return [...found.values()];
  }
  const values = allValues();

  function tableOfValues(chosen) {
    const table = document.createElement("table");
    table.createCaption().textContent = chosen.length > MOST ? `The first ${MOST}; CSV has all` : "Values";
    const row = (tag, cells) => {
      const made = document.createElement("tr");
      for (const text of cells) {
        const cell = document.createElement(tag);
        cell.append(text);
        if (tag === "th") cell.scope = "col";
        made.append(cell);
      }
      return made;
    };
    table.createTHead().append(row("th", columns));
    const body = table.createTBody();
    for (const each of chosen.slice(0, MOST)) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "value";
      button.dataset.p = each.number;
      button.textContent = each.value;
      const size = each.size === "" ? "" : `${sizeText(each.size)} B`;
      body.append(row("td", [each.test, each.metric, each.place, size, button, each.unit]));
    }
    return [saving(table, "values", [columns, ...chosen.map((each) => columns.map((name) => each[name]))]), table];
  }

  function choose() {
    const asked = Object.entries(fields).map(([name, field]) => [name, field.value]).filter(([, text]) => text);
    const words = fields.text.value.toLowerCase().split(/\s+/);
    const fits = (each) => asked.every(([name, text]) => name === "text" || String(each[name]) === text)
      && words.every((word) => each.words.includes(word));
    const chosen = asked.length ? values.filter(fits) : [];
    hide();
    document.getElementById("find-count").textContent = `${asked.length ? `${chosen.length} of ` : ""}${values.length} values`;
    document.getElementById("found").replaceChildren(...(chosen.length ? tableOfValues(chosen) : []));
    const checks = new Set(chosen.map((each) => each.check));
    for (const block of document.querySelectorAll(".part .block")) {
      block.toggleAttribute("data-out", asked.length > 0 && !checks.has(block.dataset.check));
    }
    for (const part of document.querySelectorAll(".part")) {
      part.toggleAttribute("data-out", asked.length > 0 && !part.querySelector(".block:not([data-out])"));
    }
    return asked.length ? `#?${new URLSearchParams(asked)}` : window.location.href.split("#")[0];
  }

  function options(field, texts) {
    for (const text of ["", ...texts]) {
      const name = field === fields.size && text !== "" ? `${sizeText(text)} B` : String(text);
      field.append(new Option(text === "" ? "all" : name, text));
    }
    if (texts.length < 2) field.parentElement.hidden = true;
  }
  const unique = (name) => [...new Set(values.map((each) => each[name]))].filter((text) => text !== "");
  options(fields.check, unique("check").sort());
  options(fields.place, unique("place").sort());
  options(fields.size, unique("size").sort((a, b) => a - b));
  find.hidden = false;
  find.addEventListener("input", () => window.history.replaceState(null, "", choose()));
  find.addEventListener("submit", (event) => event.preventDefault());
  const unfold = document.getElementById("unfold");
  unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    unfold.setAttribute("aria-pressed", String(open));
    for (const part of document.querySelectorAll(".part")) part.open = open;
  });

  // An address leads to what it names, also where that is folded.
  function follow() {
    const name = window.location.hash.slice(1);
    const asked = new URLSearchParams(name.startsWith("?") ? name : "");
    for (const [key, field] of Object.entries(fields)) field.value = asked.get(key) || "";
    choose();
    const target = document.getElementById(name);
    for (let each = target; each; each = each.parentElement) {
      if (each instanceof HTMLDetailsElement) each.open = true;
    }
    if (target) target.scrollIntoView();
  }
  window.addEventListener("hashchange", follow);
  follow();

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
