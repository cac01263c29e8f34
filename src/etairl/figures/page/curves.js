"use strict";
// Learning curves: a mean over seeds with a band from the lowest to the highest, and lines of others.
const curves = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { NAMES, make, number, label, watch, ticks, frame } = charts;
  const byId = (id) => document.getElementById(id), unique = (list) => [...new Set(list)];
  const METRICS = ["return", "score", "mmd2_mu", "mmd2_rho"], MOST = 7, POINTS = 60;
  const WIDTH = 400, HEIGHT = 250, LEAST = 1e-5;
  // Of Okabe and Ito, told apart also by the colour-blind; as dark or as light as a thin line needs.
  const COLOURS = [["#0072b2", "#56b4e9"], ["#c75800", "#ff8533"], ["#00875f", "#2dc79a"], ["#a8327e", "#e29ac4"], ["#1c2330", "#e6eaf0"], ["#8a6100", "#f0d060"], ["#5b6fa8", "#a9b8e0"]];
  const DASHES = ["none", "8 3", "2 3", "10 3 2 3"];
  const ink = (i) => { const [light, dark] = COLOURS[i % COLOURS.length]; return `--light: ${light}; --dark: ${dark}`; };
  const line = (i) => ({ class: "ink curve", style: ink(i), fill: "none", stroke: "currentColor", "stroke-width": 1.7, "stroke-dasharray": DASHES[i % DASHES.length] });
  const KINDS = { expert: ["6 3", "expert"], clone: ["1.5 3", "clone"], floor: ["2 5", "floor"] };

  const cellsOf = (env, arm) => {
    const found = new Map(), order = Object.keys(data.weightings);
    for (const r of data.rows) if (r.env === env && (arm === null || r.arm === arm)) {
      const key = JSON.stringify([r.arm, r.eta]);
      if (!found.has(key)) found.set(key, { arm: r.arm, eta: r.eta, runs: [] });
      found.get(key).runs.push(r.run);
    }
    const base = (c) => data.base_arms.includes(c.arm) ? 0 : 1;
    return [...found.values()].sort((a, b) => base(a) - base(b) || a.arm.localeCompare(b.arm) || order.indexOf(a.eta) - order.indexOf(b.eta));
  };
  function at(points, x) {
    const next = points.findIndex((p) => p[0] >= x);
    if (next < 0) return points[points.length - 1][1];
    if (next === 0) return points[0][1];
    const [a, b] = [points[next - 1], points[next]];
    return a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0] || 1);
  }
  // All seeds at the same transitions, as far as all of them came.
  function together(cell, metric) {
    const runs = cell.runs.map((run) => data.curves[run]?.[metric] ?? []).filter((points) => points.length);
    if (!runs.length) return null;
    const begin = Math.max(...runs.map((p) => p[0][0])), end = Math.max(begin, Math.min(...runs.map((p) => p[p.length - 1][0])));
    const grid = runs.length === 1 ? runs[0].map((p) => p[0]) : begin === end ? [begin] : Array.from({ length: POINTS }, (_, i) => begin + (end - begin) * i / (POINTS - 1));
    const rows = grid.map((x) => { const v = runs.map((points) => at(points, x)); return [x, v.reduce((a, b) => a + b, 0) / v.length, Math.min(...v), Math.max(...v)]; });
    return { cell, rows, seeds: runs.length };
  }

  function chart(env, cells, metric, names, logarithmic) {
    const shown = cells.map((cell, i) => ({ ...together(cell, metric), i })).filter((s) => s.rows);
    if (!shown.length) return null;
    const log = logarithmic && metric.startsWith("mmd2"), safe = (v) => log ? Math.max(v, LEAST) : v;
    const marks = Object.entries(data.levels[env]?.[metric] ?? {}).filter(([, v]) => v !== null && (!log || v > 0));
    const all = [...shown.flatMap((s) => s.rows.flatMap((r) => [r[2], r[3]])), ...marks.map(([, v]) => v)].map(safe);
    const last = Math.max(...shown.map((s) => s.rows[s.rows.length - 1][0]));
    // One measurement has neither a range nor a line: it is a dot in the middle.
    const low = Math.min(...all), high = Math.max(...all), pad = low < high ? 0 : 0.1 * Math.abs(low) || 1;
    const f = frame(WIDTH, HEIGHT, 52, log ? low / (1 + (pad > 0)) : low - pad, high + pad, log, `${NAMES[metric]} while learning on ${env}`);
    const x = (t) => f.left + t / last * (f.right - f.left), place = (t, v) => `${x(t).toFixed(1)} ${f.y(safe(v)).toFixed(1)}`;
    for (const t of ticks(0, last, 4)) f.svg.append(make("text", { x: x(t), y: f.bottom + 15, "text-anchor": x(t) > f.right - 14 ? "end" : "middle" }, t >= 1e6 ? `${number(t / 1e6, 2)} M` : t >= 1e3 ? `${number(t / 1e3, 2)} k` : String(t)));
    f.svg.append(make("text", { x: f.right, y: HEIGHT - 2, "text-anchor": "end" }, "transitions"));
    for (const { rows, seeds, i } of shown) if (seeds > 1)
      f.svg.append(make("path", { class: shown.length > 4 ? "ink spread faint" : "ink spread", style: ink(i), fill: "currentColor", d: `M${rows.map((r) => place(r[0], r[3])).join("L")}L${[...rows].reverse().map((r) => place(r[0], r[2])).join("L")}Z` }));
    for (const [kind, v] of marks) {
      f.svg.append(make("line", { class: "mark", x1: f.left, x2: f.right, y1: f.y(v), y2: f.y(v), "stroke-dasharray": KINDS[kind][0] }));
    }
    for (const { rows, i } of shown) {
      const alone = rows.length === 1;
      f.svg.append(make("path", { ...line(i), d: `M${rows.map((r) => place(r[0], r[1])).join("L")}${alone ? "h0" : ""}`, ...(alone ? { style: `${ink(i)}; stroke-width: 8; stroke-linecap: round`, "data-alone": "" } : {}) }));
    }
    const taken = [];
    for (const [kind, v] of marks) {
      const y = f.y(v) + (f.y(v) < 26 ? 13 : -4), near = taken.filter((other) => Math.abs(other - y) < 13).length;
      taken.push(y);
      f.svg.append(make("text", { class: "halo", x: f.right - 2 - 42 * near, y, "text-anchor": "end" }, KINDS[kind][1]));
    }
    const cursor = make("line", { class: "cursor", y1: 10, y2: f.bottom, x1: -9, x2: -9 });
    const hit = make("rect", { x: f.left, y: 0, width: f.right - f.left, height: f.bottom, fill: "transparent", class: "hit" });
    const longest = Math.min(34, Math.max(...shown.map((s) => names[s.i].length)));
    watch(hit, (event) => {
      const box = hit.getBoundingClientRect(), t = (event.clientX - box.left) / box.width * last;
      cursor.setAttribute("x1", x(t)); cursor.setAttribute("x2", x(t));
      const lines = shown.map((s) => {
        const near = s.rows.reduce((best, r) => Math.abs(r[0] - t) < Math.abs(best[0] - t) ? r : best);
        return `${names[s.i].padEnd(longest)} ${number(near[1])}  (${s.seeds} seed${s.seeds === 1 ? "" : "s"})`;
      });
      return `${Math.round(t).toLocaleString("en")} transitions\n${[...lines, ...marks.map(([kind, v]) => `${KINDS[kind][1].padEnd(longest)} ${number(v)}`)].join("\n")}`;
    }, () => { cursor.setAttribute("x1", -9); cursor.setAttribute("x2", -9); });
    f.svg.append(cursor, hit);
    return make("figure", {}, make("figcaption", {}, `${env}: ${NAMES[metric]}`), f.svg);
  }

  function draw(env, arm, log) {
    const host = byId("curve-chart"), legend = byId("curve-legend"), cells = cellsOf(env, arm);
    const arms = unique(cells.map((c) => c.arm)), etas = unique(cells.map((c) => c.eta));
    const names = cells.map((c) => arms.length === 1 ? label(c.eta) : etas.length === 1 ? c.arm : `${c.arm}, ${label(c.eta)}`);
    host.replaceChildren(...METRICS.map((metric) => chart(env, cells, metric, names, log)).filter(Boolean));
    legend.replaceChildren(...cells.map((_, i) => make("span", {}, make("svg", { viewBox: "0 0 34 6" }, make("line", { ...line(i), class: "ink", x1: 0, x2: 34, y1: 3, y2: 3, "stroke-width": 2 })), names[i])));
    return host.children.length > 0;
  }

  // False where nothing was measured at all.
  function section() {
    const env = byId("curve-env"), arm = byId("curve-arm"), log = byId("curve-log");
    const options = (select, pairs) => { select.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text))); select.parentElement.hidden = pairs.length < 2; };
    options(env, unique(data.rows.map((r) => r.env)).map((v) => [v, v]));
    // All of few settings together, else those of one arm.
    const arms = () => {
      const each = unique(cellsOf(env.value, null).map((c) => c.arm)), few = cellsOf(env.value, null).length <= MOST;
      options(arm, [...(few || each.length < 2 ? [["", "all"]] : []), ...(each.length < 2 ? [] : each.map((v) => [`=${v}`, v]))]);
    };
    const again = () => draw(env.value, arm.value === "" ? null : arm.value.slice(1), log.checked);
    env.addEventListener("change", () => { arms(); again(); });
    for (const control of [arm, log]) control.addEventListener("change", again);
    arms();
    log.parentElement.hidden = !Object.values(data.curves).some((c) => c.mmd2_mu?.length || c.mmd2_rho?.length);
    return again();
  }
  return { section };
})();
