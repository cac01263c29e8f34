"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const unique = (list) => [...new Set(list)];
  const { NAMES, make, number, percent, interval, spread, range, label, named, baseline, change, watch, inks, ticks, frame } = charts;
  const METRICS = ["mmd2_rho", "mmd2_mu", "score", "success"];
  const given = (x) => x !== null && x !== undefined;
  const share = (x) => percent(x).replace("+", "");
  const several = (n, one, more) => `${n} ${n === 1 ? one : more}`;
  const DASHES = ["none", "8 3", "2 3", "10 3 2 3"];
  const curve = (i, n) => ({ class: "ink curve", style: inks(Math.round(n > 1 ? 255 - 245 * i / (n - 1) : 212)), fill: "none", stroke: "currentColor", "stroke-width": 1.4, "stroke-dasharray": DASHES[i % DASHES.length] });

  function header() {
    byId("title").textContent = `Study ${data.name}${data.scale ? `, scale ${data.scale}` : ""}`;
    const counts = Object.entries(data.counts).map(([k, v]) => `${v} ${k}`).join(", ");
    const seeds = unique(data.rows.map((r) => r.seed)).length;
    byId("about").textContent = `Runs: ${counts}. Up to ${seeds} seed${seeds === 1 ? "" : "s"} per setting. Environments: ${unique(data.rows.map((r) => r.env)).join(", ")}.`;
    if (data.yardstick) { byId("yardstick").textContent = data.yardstick; byId("yardstick").hidden = false; }
    byId("foot").textContent = Object.entries(data.versions).map(([k, v]) => `${k} ${v}`).join(" · ");
  }

  // What only some reports have: a section without content goes, and so does the link to it.
  function without(id, content) {
    if (content?.length) return false;
    byId(id).hidden = true;
    document.querySelector(`nav a[href="#${id}"]`)?.remove();
    return true;
  }
  function claims() {
    if (!data.findings) return without("claims");
    const host = byId("claim-list");
    if (!data.findings.length) host.append(make("p", {}, "The finished runs speak to none of the paper's claims."));
    for (const f of data.findings) {
      const kind = { replicated: "yes", "not replicated": "no" }[f.verdict] || "open";
      host.append(make("details", { class: `finding ${kind}` },
        make("summary", {}, make("b", {}, f.verdict), ` — ${f.env}${data.base_arms.includes(f.arm) ? "" : `, ${f.arm}`}: ${f.claim}`),
        make("p", {}, f.sentence)));
    }
  }
  function evaluation() {
    if (without("evaluation", data.evaluation)) return;
    const names = { return: "return", score: "score", mmd2_rho: NAMES.mmd2_rho, mmd2_mu: NAMES.mmd2_mu, success: "solved", score_all_tasks: "score, all tasks", success_all_tasks: "solved, all tasks" };
    const keys = Object.keys(names).filter((key) => data.evaluation.some((e) => e[key]));
    const half = (m) => !m ? "" : number(m.value, 2) + (given(m.low) ? ` ± ${number((m.high - m.low) / 2, 2)}` : "");
    fill(byId("evaluation-table"), ["environment", "arm", "weighting", "policy", "seeds", ...keys.map((key) => names[key]), "floor of μ"],
      data.evaluation.map((e) => [e.env, e.arm, e.eta && label(e.eta), e.policy, e.seeds.length, ...keys.map((key) => half(e[key])), number(e.floor_mu, 2)]), 4);
  }

  function panels() {
    const host = byId("panels"), beside = byId("arm-panels"), envs = unique(data.settings.map((e) => e.env));
    for (const env of envs) {
      const arms = unique(data.settings.filter((e) => e.env === env).map((e) => e.arm));
      for (const arm of arms) for (const metric of METRICS) {
        const entries = data.settings.filter((e) => e.env === env && e.arm === arm && e[metric]);
        if (entries.length > 1) host.append(charts.weightings(env, arm, metric, entries));
      }
      const all = data.settings.filter((e) => e.env === env && e.mmd2_mu);
      if (arms.length > 1 && all.length) beside.append(charts.arms(env, "mmd2_mu", all));
    }
    for (const found of data.discounts) for (const metric of ["mmd2_rho", "mmd2_mu", "score"]) {
      const figure = charts.discounts(found, metric);
      if (figure) byId("discount-panels").append(figure);
    }
    for (const id of ["discounts", "arms"]) byId(id).hidden = !byId(id).querySelector("figure");
    if (envs.length > 1) across();
  }
  function across() {
    const host = byId("across"), table = make("table", {});
    const own = (metric, e) => data.settings.filter((s) => s.arm === e.arm && s.eta === e.eta && s[metric]).map((s) => `${s.env} ${number(s[metric].mean.value, 2)}`).join(", ");
    const order = Object.keys(data.weightings), rank = (e) => order.indexOf(e.eta) - (data.base_arms.includes(e.arm) ? order.length : 0);
    const rows = Object.entries(data.across).flatMap(([metric, list]) => [...list].sort((a, b) => rank(a) - rank(b)).map((e) => [NAMES[metric], e.arm, label(e.eta),
      e.tasks, e.seeds, number(e.mean.value), interval(e.mean), number(e.iqm.value), interval(e.iqm), share(e.improvement), own(metric, e), (e.left_out ?? []).join(", ")]));
    if (!rows.length) return;
    const columns = ["metric", "arm", "weighting", "tasks", "runs", "mean", "95 %", "IQM", "95 %", "better than κ = 0", "means as they are"];
    const out = rows.some((r) => r.at(-1)) ? [...columns, "left out: κ = 0 at the floor"] : columns;
    fill(table, out, rows.map((r) => r.slice(0, out.length)), 3);
    host.append(make("h3", {}, "All environments together, in shares of κ = 0"), make("div", { class: "scroll" }, table));
  }

  function results() {
    const metrics = METRICS.filter((m) => data.settings.some((e) => e[m])), paired = ["mmd2_rho", "mmd2_mu", "score"].filter((m) => metrics.includes(m));
    const toDefault = paired.filter((m) => data.settings.some((e) => e[m]?.against_default));
    const base = (e) => { const b = baseline(e); return b ? named(b) : ""; };
    const twin = (e) => data.settings.find((s) => s.env === e.env && data.base_arms.includes(s.arm) && s.eta === e.eta);
    fill(byId("result-table"), ["environment", "arm", "weighting", "seeds", "cycles", "discriminator updates", "policy updates", ...metrics.map((m) => `${NAMES[m]}, 95 %`), "beside",
      ...paired.map((m) => `${NAMES[m]}, change`), ...toDefault.map((m) => `${NAMES[m]}, change from the base arm`)],
      data.settings.map((e) => [e.env, e.arm, label(e.eta), e.seeds.length, range(e.effort.cycles), range(e.effort.cost), range(e.effort.policy),
        ...metrics.map((m) => e[m] ? spread(e[m].mean) : ""), base(e),
        ...paired.map((m) => change(e[m]?.against_baseline, baseline(e), m)), ...toDefault.map((m) => change(e[m]?.against_default, twin(e), m))]), 3);
  }

  // Columns with reasons or notes are wrapped, those of numbers never.
  function wraps(cells) {
    const longest = Math.max(0, ...cells.map((c) => String(c).length));
    return longest > 120 ? "words prose" : longest > 45 ? "words reasons" : "";
  }
  function fill(table, columns, rows, words) {
    const kinds = columns.map((_, i) => ({ class: i < words ? "words" : wraps(rows.map((row) => row[i])) }));
    table.replaceChildren(make("thead", {}, make("tr", {}, ...columns.map((c, i) => make("th", kinds[i], c)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((c, i) => make("td", kinds[i], c === null ? "none" : String(c)))))));
  }

  function prediction() {
    if (!data.predictions) return without("prediction");
    const entry = (p) => data.settings.find((e) => e.env === p.env && e.arm === p.arm && e.eta === p.eta);
    const told = (key) => data.predictions.some((p) => p[key]) ? [key] : [], verdict = told("verdict"), note = told("note");
    fill(byId("prediction-table"), ["environment", "arm", "weighting", ...verdict, "beside", "other frames, predicted", "at the episodes' length", "MMD² of ρ, measured", "MMD² of μ, measured", "1 − score, measured", ...note],
      data.predictions.map((p) => {
        const base = entry(p) && baseline(entry(p));
        return [p.env, p.arm, label(p.eta), ...verdict.map((key) => p[key] ?? ""), base ? named(base) : "", share(p.tv), `${share(p.tv_at_length)} (${p.length} steps)`,
          ...["mmd2_rho", "mmd2_mu", "shortfall"].map((m) => change(p.changes[m], base, m)), ...note.map((key) => p[key] ?? "")];
      }), 3 + verdict.length);
    byId("prediction-text").append(make("p", { id: "prediction-sentence" }, small(data.predictions.filter((p) => p.small))));
  }
  function small(settings) {
    if (!settings.length) return "The finished runs have no κ up to 0.75 beside κ = 0.";
    const of = (p) => p.changes.mmd2_mu?.relative, most = (key) => share(Math.max(...settings.map((p) => p[key])));
    const kind = (p) => !of(p) ? "alone" : !given(of(p).value) ? "floor" : given(of(p).low) ? "known" : "open";
    const [known, open, floor, alone] = ["known", "open", "floor", "alone"].map((name) => settings.filter((p) => kind(p) === name));
    const apart = known.filter((p) => { const seen = Math.max(p.tv, p.tv_at_length); return of(p).low > seen || of(p).high < -seen; });
    const parts = [[known, `an interval of the change in MMD² of μ (${several(apart.length, "of them differs", "of them differ")} by more than predicted, about ${(0.05 * known.length).toFixed(1)} would by chance)`],
      [open, "no bounds"], [floor, "κ = 0 at its floor"], [alone, "no seed in common with κ = 0"]].filter(([list]) => list.length).map(([list, what]) => `${several(list.length, "has", "have")} ${what}`);
    const changes = settings.map(of).filter((c) => c && given(c.value)).map((c) => Math.abs(c.value));
    return `With κ up to 0.75 the discriminator sees at most ${most("tv")} other frames in whole episodes, and ${most("tv_at_length")} in episodes as long as those of the last cycles. ` +
      `Of ${several(settings.length, "setting", "settings")} with κ up to 0.75, ${parts.join(", ")}.` + (changes.length ? ` The mean of MMD² of μ differs from that of κ = 0 by up to ${share(Math.max(...changes))}.` : "");
  }

  function trends() {
    if (!data.trends) return;
    const shares = (t) => given(t.relative.value) ? percent(t.relative.value) + interval(t.relative, percent) + (given(t.relative.low) ? "" : ` (${t.relative.note})`) : "it begins at the floor";
    byId("trends").hidden = !data.trends.length;
    fill(byId("trend-table"), ["environment", "arm", "metric", "runs", "change, as a share", "p", "power for 25 %", "change", "line at κ=0", "at the farthest"],
      data.trends.map((t) => [t.env, t.arm, NAMES[t.metric], t.runs, shares(t), number(t.p, 1), given(t.power) ? share(t.power) : "", spread(t.change), number(t.start, 2), `${label(t.to)}: ${number(t.end, 2)}`]), 3);
  }

  function options(select, values) { select.replaceChildren(...values.map((v) => make("option", { value: v }, v))); }
  function curves() {
    const env = byId("curve-env"), arm = byId("curve-arm"), metric = byId("curve-metric"), log = byId("curve-log");
    options(env, unique(data.rows.map((r) => r.env)));
    for (const option of [...metric.options]) if (!Object.values(data.curves).some((c) => c[option.value]?.length)) option.remove();
    const arms = () => options(arm, unique(data.rows.filter((r) => r.env === env.value).map((r) => r.arm)));
    const draw = () => drawCurves(env.value, arm.value, metric.value, log.checked);
    env.addEventListener("change", () => { arms(); draw(); });
    for (const control of [arm, metric, log]) control.addEventListener("change", draw);
    arms(); draw();
  }
  function drawCurves(env, arm, metric, log) {
    const runs = data.rows.filter((r) => r.env === env && r.arm === arm && data.curves[r.run][metric]?.length);
    const host = byId("curve-chart"), legend = byId("curve-legend");
    host.replaceChildren(); legend.replaceChildren();
    if (!runs.length) return;
    const etas = Object.keys(data.weightings).filter((eta) => runs.some((r) => r.eta === eta)), narrow = host.clientWidth < 600, width = narrow ? 400 : 900, height = narrow ? 260 : 340;
    const safe = log && metric.startsWith("mmd2");
    const value = (v) => safe ? Math.max(v, 1e-5) : v;
    const all = runs.flatMap((r) => data.curves[r.run][metric].map((p) => value(p[1])));
    const last = Math.max(...runs.flatMap((r) => data.curves[r.run][metric].map((p) => p[0])));
    // One measurement has neither a range nor a line: it is a dot in the middle.
    const low = Math.min(...all), high = Math.max(...all), pad = low < high ? 0 : 0.1 * Math.abs(low) || 1;
    const f = frame(width, height, 56, safe ? low / (1 + (pad > 0)) : low - pad, high + pad, safe, `${NAMES[metric]} while learning on ${env}`);
    const x = (t) => f.left + t / last * (f.right - f.left);
    for (const t of ticks(0, last, narrow ? 4 : 6)) f.svg.append(make("text", { x: x(t), y: f.bottom + 15, "text-anchor": "middle" }, t >= 1e6 ? `${number(t / 1e6, 2)} M` : t >= 1e3 ? `${number(t / 1e3, 2)} k` : String(t)));
    f.svg.append(make("text", { x: f.right, y: height - 2, "text-anchor": "end" }, "transitions"));
    for (const r of runs) {
      const points = data.curves[r.run][metric], alone = points.length === 1;
      const path = points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${f.y(value(p[1])).toFixed(1)}`).join("") + (alone ? "h0" : "");
      f.svg.append(make("path", { ...curve(etas.indexOf(r.eta), etas.length), d: path, ...(alone ? { style: "stroke-width: 8; stroke-linecap: round", "data-alone": "" } : {}) }));
    }
    const cursor = make("line", { class: "cursor", y1: 10, y2: f.bottom, x1: -9, x2: -9 });
    const hit = make("rect", { x: f.left, y: 0, width: f.right - f.left, height: f.bottom, fill: "transparent", class: "hit" });
    watch(hit, (event) => {
      const box = hit.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * last;
      cursor.setAttribute("x1", x(at)); cursor.setAttribute("x2", x(at));
      const lines = etas.map((eta) => {
        const here = runs.filter((r) => r.eta === eta).map((r) => nearest(data.curves[r.run][metric], at)[1]);
        return `${label(eta).padEnd(10)} ${number(here.reduce((a, b) => a + b, 0) / here.length)}  (${here.length} seed${here.length === 1 ? "" : "s"})`;
      });
      return `${Math.round(at).toLocaleString("en")} transitions\n${lines.join("\n")}`;
    }, () => { cursor.setAttribute("x1", -9); cursor.setAttribute("x2", -9); });
    f.svg.append(cursor, hit);
    host.append(make("figure", {}, f.svg));
    etas.forEach((eta, i) => legend.append(make("span", {}, make("svg", { viewBox: "0 0 34 6" }, make("line", { ...curve(i, etas.length), class: "ink", x1: 0, x2: 34, y1: 3, y2: 3, "stroke-width": 2 })), label(eta))));
  }
  const nearest = (points, at) => points.reduce((best, p) => Math.abs(p[0] - at) < Math.abs(best[0] - at) ? p : best);

  function runTable() {
    const columns = [["run", "run"], ["env", "environment"], ["arm", "arm"], ["eta", "weighting"], ["seed", "seed"], ["return", "return"], ["score", "score"], ...data.rows.some((r) => given(r.success)) ? [["success", "solved"]] : [], ["mmd2_rho", "MMD² ρ"], ["mmd2_mu", "MMD² μ"], ["best_mmd2_mu", "best MMD² μ"], ["collapsed_share", "collapsed"], ["cycles", "cycles"], ["transitions", "transitions"], ["diagnostics", "warnings"]];
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
    fill(byId("setting-table"), ["environment", "arm", "weighting", ...d.names], d.rows.map((r) => [r.cell[0], r.cell[1], label(r.cell[2]), ...r.values]), 3);
    byId("common").textContent = Object.entries(d.common).map(([k, v]) => `${k} = ${JSON.stringify(v)}`).join("\n");
  }
  function warnings() {
    const host = byId("warning-list");
    for (const f of data.failures) host.append(make("div", { class: "finding no" }, make("p", {}, make("b", {}, "failed"), ` — ${f.run}: ${f.why}`)));
    const kinds = unique(data.diagnostics.map((d) => d.name));
    for (const kind of kinds) {
      const fired = data.diagnostics.filter((d) => d.name === kind);
      host.append(make("div", { class: "finding" }, make("p", {}, make("b", {}, kind), ` in ${fired.length} of ${data.rows.length} runs: ${fired[0].message}`),
        make("p", {}, fired.map((d) => `${d.run} (cycle ${d.cycle})`).join(", "))));
    }
    if (!host.children.length) host.append(make("p", {}, "No run failed, and there are no warnings."));
  }

  for (const part of [header, claims, panels, results, evaluation, prediction, trends, curves, runTable, settings, warnings]) part();
  document.body.dataset.ready = "yes";
})();
