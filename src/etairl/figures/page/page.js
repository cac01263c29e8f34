"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const unique = (list) => [...new Set(list)];
  const NAMES = { mmd2_rho: "MMD² of ρ", mmd2_mu: "MMD² of μ", cost: "normalised cost", return: "return" };
  const HUES = { mmd2_rho: 212, mmd2_mu: 145, cost: 4 };
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 360, HEIGHT = 210;

  function make(tag, attributes, ...children) {
    const isSvg = ["svg", "g", "line", "path", "circle", "text", "rect", "title"].includes(tag);
    const node = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    for (const child of children) node.append(child);
    return node;
  }
  const number = (x, digits = 3) => x === null || x === undefined || Number.isNaN(x) ? "" :
    Math.abs(x) >= 1e5 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(2) : String(Number(x.toPrecision(digits + 1)));
  const percent = (x) => x === null || x === undefined ? "" : `${x > 0 ? "+" : x < 0 ? "−" : ""}${Math.abs(100 * x).toFixed(1)} %`;
  const colour = (i, n) => `hsl(${Math.round(n > 1 ? 255 - 245 * i / (n - 1) : 212)} 60% 52%)`;

  const tip = byId("tip");
  function showTip(event, text) {
    tip.textContent = text; tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 4))}px`;
  }
  const hideTip = () => { tip.hidden = true; };

  function ticks(low, high, count = 4) {
    const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const found = [];
    for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step) found.push(Number(x.toPrecision(12)));
    return found;
  }
  function frame(width, height, left, low, high, log, label) {
    const top = 10, bottom = height - 30, of = log ? Math.log10 : (v) => v;
    const [a, b] = [of(low), of(high)];
    const y = (v) => bottom - (of(v) - a) / (b - a || 1) * (bottom - top);
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    const at = log ? ticks(a, b, 3).map((t) => 10 ** t) : ticks(low, high);
    for (const t of at) {
      svg.append(make("line", { class: "axis", x1: left, x2: width - 8, y1: y(t), y2: y(t) }));
      svg.append(make("text", { x: left - 5, y: y(t) + 4, "text-anchor": "end" }, number(t, 2)));
    }
    return { svg, y, bottom, left, right: width - 8 };
  }

  function header() {
    byId("title").textContent = `Study ${data.name}${data.scale ? `, scale ${data.scale}` : ""}`;
    const counts = Object.entries(data.counts).map(([k, v]) => `${v} ${k}`).join(", ");
    const seeds = unique(data.rows.map((r) => r.seed)).length;
    byId("about").textContent = `Runs: ${counts}. Up to ${seeds} seed${seeds === 1 ? "" : "s"} per setting. Environments: ${unique(data.rows.map((r) => r.env)).join(", ")}.`;
    byId("foot").textContent = Object.entries(data.versions).map(([k, v]) => `${k} ${v}`).join(" · ");
  }

  function claims() {
    const host = byId("claim-list");
    if (!data.findings.length) host.append(make("p", {}, "The finished runs speak to none of the paper's claims."));
    for (const f of data.findings) {
      const kind = { replicated: "yes", "not replicated": "no" }[f.verdict] || "open";
      host.append(make("div", { class: `finding ${kind}` },
        make("p", {}, make("b", {}, f.verdict), ` — ${f.env}${f.arm === "default" ? "" : `, ${f.arm}`}: ${f.claim}`),
        make("p", {}, f.sentence)));
    }
  }

  function panel(env, arm, metric, entries) {
    const values = entries.flatMap((e) => [e[metric].mean.low ?? e[metric].mean.value, e[metric].mean.high ?? e[metric].mean.value,
      ...data.rows.filter((r) => r.env === env && r.arm === arm && r.eta === e.eta && r[metric] !== null).map((r) => r[metric])]);
    const low = Math.min(0, ...values), high = Math.max(...values) * 1.05 || 1;
    const f = frame(WIDTH, HEIGHT, 48, low, high, false, `${NAMES[metric]} on ${env}`);
    const x = (i) => f.left + (i + 0.5) * (f.right - f.left) / entries.length;
    const ink = `hsl(${HUES[metric]} 60% 48%)`;
    const line = entries.map((e, i) => `${i ? "L" : "M"}${x(i)} ${f.y(e[metric].mean.value)}`).join("");
    f.svg.append(make("path", { d: line, fill: "none", stroke: ink, "stroke-width": 1.6 }));
    entries.forEach((e, i) => {
      const m = e[metric].mean;
      for (const r of data.rows) if (r.env === env && r.arm === arm && r.eta === e.eta && r[metric] !== null)
        f.svg.append(make("circle", { cx: x(i) + 5, cy: f.y(r[metric]), r: 1.8, fill: ink, opacity: 0.5 }));
      if (m.low !== null) f.svg.append(make("line", { x1: x(i), x2: x(i), y1: f.y(m.low), y2: f.y(m.high), stroke: ink, "stroke-width": 1.6 }));
      f.svg.append(make("circle", { cx: x(i), cy: f.y(m.value), r: 3.4, fill: ink }));
      f.svg.append(make("text", { x: x(i), y: f.bottom + 15, "text-anchor": "middle" }, e.eta.replace(/^(geometric|poisson|dirac):/, "")));
      const hit = make("rect", { x: x(i) - 14, y: 0, width: 28, height: HEIGHT, fill: "transparent", class: "hit" });
      const versus = e[metric].against_baseline;
      const text = `${e.eta}\n${NAMES[metric]}: ${number(m.value)}${m.low === null ? "" : ` [${number(m.low)}, ${number(m.high)}]`}\ninterquartile mean: ${number(e[metric].iqm.value)}\n${e.seeds.length} seeds` +
        (versus ? `\nagainst ${e.baseline}: ${percent(versus.relative.value)}${versus.p_t === null ? "" : `, p = ${number(versus.p_t, 1)}`}` : "");
      hit.addEventListener("pointermove", (event) => showTip(event, text));
      hit.addEventListener("pointerleave", hideTip);
      f.svg.append(hit);
    });
    const floor = data.rows.find((r) => r.env === env && r.arm === arm)[`${metric}_floor`];
    if (floor > 0 && floor < high) f.svg.append(make("line", { class: "cursor", x1: f.left, x2: f.right, y1: f.y(floor), y2: f.y(floor) }));
    const arms = arm === "default" ? "" : `, ${arm}`;
    const dashed = floor > 0 && floor < high ? "; dashed: expert against itself" : "";
    return make("figure", {}, make("figcaption", {}, `${env}${arms}: ${NAMES[metric]}${dashed}`), f.svg);
  }

  function panels() {
    const host = byId("panels");
    for (const env of unique(data.settings.map((e) => e.env)))
      for (const arm of unique(data.settings.filter((e) => e.env === env).map((e) => e.arm)))
        for (const metric of ["mmd2_rho", "mmd2_mu", "cost"]) {
          const entries = data.settings.filter((e) => e.env === env && e.arm === arm && e[metric]);
          if (entries.length > 1) host.append(panel(env, arm, metric, entries));
        }
    if (unique(data.rows.map((r) => r.env)).length > 1) across();
  }
  function across() {
    const host = byId("across"), table = make("table", {});
    const rows = Object.entries(data.across).flatMap(([metric, list]) => list.map((e) => [NAMES[metric], e.arm, e.eta, e.tasks, e.seeds,
      number(e.mean.value), e.mean.low === null ? "" : `[${number(e.mean.low)}, ${number(e.mean.high)}]`,
      number(e.iqm.value), e.iqm.low === null ? "" : `[${number(e.iqm.low)}, ${number(e.iqm.high)}]`, percent(e.improvement).replace("+", "")]));
    if (!rows.length) return;
    fill(table, ["metric", "arm", "weighting", "tasks", "runs", "mean", "95 %", "IQM", "95 %", "better than κ = 0"], rows, 3);
    host.append(make("h3", {}, "All environments together, in shares of κ = 0"), make("div", { class: "scroll" }, table));
  }

  function fill(table, columns, rows, words) {
    table.replaceChildren(make("thead", {}, make("tr", {}, ...columns.map((c, i) => make("th", i < words ? { class: "words" } : {}, c)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((c, i) => make("td", i < words ? { class: "words" } : {}, c === null ? "none" : String(c)))))));
  }

  function prediction() {
    const change = (c) => !c ? "" : percent(c.relative.value) + (c.relative.low === null ? "" : ` [${percent(c.relative.low)}, ${percent(c.relative.high)}]`);
    fill(byId("prediction-table"), ["environment", "arm", "weighting", "other frames, predicted", "at the episodes' length", "MMD² of ρ, measured", "MMD² of μ, measured", "cost, measured"],
      data.predictions.map((p) => [p.env, p.arm, p.eta, percent(p.tv).replace("+", ""), `${percent(p.tv_at_length).replace("+", "")} (${p.length} steps)`, change(p.changes.mmd2_rho), change(p.changes.mmd2_mu), change(p.changes.cost)]), 3);
    const small = data.predictions.filter((p) => p.small && p.changes.mmd2_mu);
    const known = small.filter((p) => p.changes.mmd2_mu.relative.low !== null);
    const apart = known.filter((p) => p.changes.mmd2_mu.relative.low > 0 || p.changes.mmd2_mu.relative.high < 0);
    const most = Math.max(0, ...small.map((p) => p.tv));
    const largest = Math.max(0, ...small.map((p) => Math.abs(p.changes.mmd2_mu.relative.value)));
    const text = !small.length ? "The finished runs have no κ up to 0.75 beside κ = 0." :
      `With κ up to 0.75 the discriminator sees at most ${percent(most).replace("+", "")} other frames (whole episodes). Measured: MMD² of μ differs from κ = 0 by up to ${percent(largest).replace("+", "")} on average; in ${apart.length} of ${known.length} settings the 95 % interval excludes a change of zero` +
      (known.length ? ` (about ${(0.05 * known.length).toFixed(1)} would by chance).` : ".");
    byId("prediction-text").append(make("p", { id: "prediction-sentence" }, text));
  }

  function options(select, values) { select.replaceChildren(...values.map((v) => make("option", { value: v }, v))); }
  function curves() {
    const env = byId("curve-env"), arm = byId("curve-arm"), metric = byId("curve-metric"), log = byId("curve-log");
    options(env, unique(data.rows.map((r) => r.env)));
    const arms = () => options(arm, unique(data.rows.filter((r) => r.env === env.value).map((r) => r.arm)));
    const draw = () => drawCurves(env.value, arm.value, metric.value, log.checked);
    env.addEventListener("change", () => { arms(); draw(); });
    for (const control of [arm, metric, log]) control.addEventListener("change", draw);
    arms(); draw();
  }
  function drawCurves(env, arm, metric, log) {
    const runs = data.rows.filter((r) => r.env === env && r.arm === arm && data.curves[r.run][metric].length);
    const host = byId("curve-chart"), legend = byId("curve-legend");
    host.replaceChildren(); legend.replaceChildren();
    if (!runs.length) return;
    const etas = unique(runs.map((r) => r.eta)), width = 900, height = 340;
    const safe = log && metric !== "return";
    const value = (v) => safe ? Math.max(v, 1e-5) : v;
    const all = runs.flatMap((r) => data.curves[r.run][metric].map((p) => value(p[1])));
    const last = Math.max(...runs.flatMap((r) => data.curves[r.run][metric].map((p) => p[0])));
    const f = frame(width, height, 56, Math.min(...all), Math.max(...all), safe, `${NAMES[metric]} while learning on ${env}`);
    const x = (t) => f.left + t / last * (f.right - f.left);
    for (const t of ticks(0, last, 6)) f.svg.append(make("text", { x: x(t), y: f.bottom + 15, "text-anchor": "middle" }, t >= 1e6 ? `${number(t / 1e6, 2)} M` : t >= 1e3 ? `${number(t / 1e3, 2)} k` : String(t)));
    f.svg.append(make("text", { x: f.right, y: height - 2, "text-anchor": "end" }, "transitions"));
    for (const r of runs) {
      const path = data.curves[r.run][metric].map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${f.y(value(p[1])).toFixed(1)}`).join("");
      f.svg.append(make("path", { d: path, fill: "none", stroke: colour(etas.indexOf(r.eta), etas.length), "stroke-width": 1.3, opacity: 0.85, class: "curve" }));
    }
    const cursor = make("line", { class: "cursor", y1: 10, y2: f.bottom, x1: -9, x2: -9 });
    const hit = make("rect", { x: f.left, y: 0, width: f.right - f.left, height: f.bottom, fill: "transparent", class: "hit" });
    hit.addEventListener("pointermove", (event) => {
      const box = hit.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * last;
      cursor.setAttribute("x1", x(at)); cursor.setAttribute("x2", x(at));
      const lines = etas.map((eta) => {
        const here = runs.filter((r) => r.eta === eta).map((r) => nearest(data.curves[r.run][metric], at)[1]);
        return `${eta.padEnd(16)} ${number(here.reduce((a, b) => a + b, 0) / here.length)}  (${here.length} seed${here.length === 1 ? "" : "s"})`;
      });
      showTip(event, `${Math.round(at).toLocaleString("en")} transitions\n${lines.join("\n")}`);
    });
    hit.addEventListener("pointerleave", () => { hideTip(); cursor.setAttribute("x1", -9); cursor.setAttribute("x2", -9); });
    f.svg.append(cursor, hit);
    host.append(make("figure", {}, f.svg));
    etas.forEach((eta, i) => legend.append(make("span", {}, make("i", { style: `background:${colour(i, etas.length)}` }), eta)));
  }
  const nearest = (points, at) => points.reduce((best, p) => Math.abs(p[0] - at) < Math.abs(best[0] - at) ? p : best);

  function runTable() {
    const columns = [["run", "run"], ["env", "environment"], ["arm", "arm"], ["eta", "weighting"], ["seed", "seed"], ["return", "return"], ["cost", "cost"], ["mmd2_rho", "MMD² ρ"], ["mmd2_mu", "MMD² μ"], ["best_mmd2_mu", "best MMD² μ"], ["collapsed_share", "collapsed"], ["cycles", "cycles"], ["transitions", "transitions"], ["diagnostics", "troubles"]];
    const words = (key) => ["run", "env", "arm", "eta", "diagnostics"].includes(key);
    const table = byId("run-table"), filter = byId("run-filter");
    let sorted = null, direction = 1;
    const body = make("tbody", {});
    const head = make("tr", {}, ...columns.map(([key, name]) => {
      const button = make("button", { type: "button" }, name);
      const cell = make("th", words(key) ? { class: "words" } : {}, button);
      button.addEventListener("click", () => {
        direction = sorted === key ? -direction : 1; sorted = key;
        for (const other of head.children) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        show();
      });
      return cell;
    }));
    function show() {
      const asked = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let rows = data.rows.filter((r) => { const text = columns.map(([k]) => r[k]).join(" ").toLowerCase(); return asked.every((w) => text.includes(w)); });
      if (sorted) rows = [...rows].sort((a, b) => direction * (words(sorted) ? String(a[sorted]).localeCompare(String(b[sorted]), "en", { numeric: true }) : (a[sorted] ?? Infinity) - (b[sorted] ?? Infinity)));
      body.replaceChildren(...rows.map((r) => make("tr", {}, ...columns.map(([k]) => make("td", words(k) ? { class: "words" } : {}, words(k) ? r[k] : ["cycles", "transitions", "seed"].includes(k) ? String(r[k]) : number(r[k]))))));
      byId("run-count").textContent = `${rows.length} of ${data.rows.length} runs`;
    }
    filter.addEventListener("input", show);
    table.append(make("thead", {}, head), body);
    show();
  }

  function settings() {
    const d = data.differences;
    fill(byId("setting-table"), ["environment", "arm", "weighting", ...d.names], d.rows.map((r) => [...r.cell, ...r.values]), 3);
    byId("common").textContent = Object.entries(d.common).map(([k, v]) => `${k} = ${JSON.stringify(v)}`).join("\n");
  }
  function troubles() {
    const host = byId("trouble-list");
    for (const f of data.failures) host.append(make("div", { class: "finding no" }, make("p", {}, make("b", {}, "failed"), ` — ${f.run}: ${f.why}`)));
    const kinds = unique(data.diagnostics.map((d) => d.name));
    for (const kind of kinds) {
      const fired = data.diagnostics.filter((d) => d.name === kind);
      host.append(make("div", { class: "finding" }, make("p", {}, make("b", {}, kind), ` in ${fired.length} of ${data.rows.length} runs: ${fired[0].message}`),
        make("p", {}, fired.map((d) => `${d.run} (cycle ${d.cycle})`).join(", "))));
    }
    if (!host.children.length) host.append(make("p", {}, "No run failed, and no diagnostic fired."));
  }

  for (const part of [header, claims, panels, prediction, curves, runTable, settings, troubles]) part();
  document.body.dataset.ready = "yes";
})();
