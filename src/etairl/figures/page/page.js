"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const unique = (list) => [...new Set(list)];
  const { NAMES, make, number, percent, interval, spread, range, label, named, baseline, change } = charts;
  const METRICS = ["mmd2_rho", "mmd2_mu", "score", "success"];
  const given = (x) => x !== null && x !== undefined;
  const share = (x) => percent(x).replace("+", "");
  const several = (n, one, more) => `${n} ${n === 1 ? one : more}`;
  const wide = innerWidth >= 700;

  function header() {
    byId("title").textContent = data.title;
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
    if (!data.findings.length) return byId("claim-table").parentElement.replaceWith(make("p", {}, "The finished runs speak to none of the paper's claims."));
    const task = (f) => `${f.env}${data.base_arms.includes(f.arm) ? "" : `, ${f.arm}`}`, kinds = { replicated: "yes", "not replicated": "no" };
    fill(byId("claim-table"), ["verdict", "task", "claim, and what was measured"], data.findings.map((f) => [make("b", {}, f.verdict), task(f), make("details", {}, make("summary", {}, f.claim), make("p", {}, f.sentence))]), 3);
    [...byId("claim-table").querySelectorAll("tbody tr")].forEach((row, i) => { row.className = `claim ${kinds[data.findings[i].verdict] || "open"}`; });
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
    const host = byId("panels"), others = make("div", {}), beside = byId("arm-panels"), envs = unique(data.settings.map((e) => e.env));
    for (const env of envs) {
      const arms = unique(data.settings.filter((e) => e.env === env).map((e) => e.arm));
      for (const arm of arms) {
        const drawn = METRICS.map((metric) => [metric, data.settings.filter((e) => e.env === env && e.arm === arm && e[metric])]).filter(([, entries]) => entries.length > 1);
        if (drawn.length) (data.base_arms.includes(arm) ? host : others).append(make("div", { class: "panels" }, ...drawn.map(([metric, entries]) => charts.weightings(env, arm, metric, entries))));
      }
      const all = data.settings.filter((e) => e.env === env && e.mmd2_mu);
      if (arms.length > 1 && all.length) beside.append(charts.arms(env, "mmd2_mu", all));
    }
    if (others.children.length) host.append(host.children.length ? make("details", wide ? { open: "" } : {}, make("summary", {}, "Other arms"), others) : others);
    for (const found of data.discounts) {
      const figures = ["mmd2_rho", "mmd2_mu", "score"].map((metric) => charts.discounts(found, metric)).filter(Boolean);
      if (figures.length) byId("discount-panels").append(make("div", { class: "panels" }, ...figures));
    }
    for (const id of ["figures", "discounts", "arms"]) without(id, [...byId(id).querySelectorAll("figure")]);
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
    host.append(make("details", wide ? { open: "" } : {}, make("summary", {}, "All environments together, in shares of κ = 0"), make("div", { class: "scroll" }, table)));
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
    const kinds = columns.map((_, i) => ({ class: i < words ? "words" : wraps(rows.map((row) => row[i] instanceof Node ? "" : row[i])) }));
    table.replaceChildren(make("thead", {}, make("tr", {}, ...columns.map((c, i) => make("th", kinds[i], c)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((c, i) => make("td", kinds[i], c === null ? "none" : c instanceof Node ? c : String(c)))))));
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

  function learning() { if (!curves.section()) without("curves"); }

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

  // Short: what differs between the runs, then what all of them have that the preset has not.
  function settings() {
    const d = data.differences, byTask = (i) => d.rows.every((r) => d.rows.every((o) => r.cell[0] !== o.cell[0] || value(r.values[i]) === value(o.values[i])));
    const shown = d.names.map((name, i) => [name, i]).filter(([name, i]) => !["eta", "env", "kind"].includes(name) && (name !== "demos" || !byTask(i)));
    const rows = d.rows.map((r) => [r.cell, shown.map(([, i]) => value(r.values[i]))]);
    // Settings that follow from the arm have one line, not one for each weighting.
    const ofArm = rows.every(([cell, v]) => rows.every(([other, w]) => cell[0] !== other[0] || cell[1] !== other[1] || v.join("\n") === w.join("\n")));
    const lines = rows.map(([cell, v]) => [cell[0], cell[1], ...(ofArm ? [] : [label(cell[2])]), ...v]);
    const kept = lines.filter((line, i) => lines.findIndex((other) => other.join("\n") === line.join("\n")) === i), heads = ["environment", "arm", ...(ofArm ? [] : ["weighting"])];
    if (shown.length && kept.length > 1) fill(byId("setting-table"), [...heads, ...shown.map(([name]) => name)], kept, heads.length);
    else byId("setting-table").parentElement.hidden = true;
    const preset = d.preset;
    if (preset) {
      byId("preset-note").textContent = `${kept.length > 1 ? "All runs otherwise have" : "These are"} the settings of the preset ${preset.name}${preset.changes.length ? ", but for:" : "."}`;
      fill(byId("preset-table"), ["setting", "here", "preset"], preset.changes.map(([name, here, there]) => [name, value(here), value(there)]), 1);
    }
    byId("preset-table").parentElement.hidden = !preset?.changes.length;
    byId("common").textContent = Object.entries(d.common).map(([k, v]) => `${k} = ${JSON.stringify(v)}`).join("\n");
  }
  const value = (v) => v === null || v === undefined ? "none" : Array.isArray(v) ? v.join(" ") : String(v);
  function warnings() {
    const host = byId("warning-list");
    for (const f of data.failures) host.append(make("div", { class: "finding no" }, make("p", {}, make("b", {}, "failed"), ` — ${f.run}: ${f.why}`)));
    const kinds = unique(data.diagnostics.map((d) => d.name));
    for (const kind of kinds) {
      const fired = data.diagnostics.filter((d) => d.name === kind);
      host.append(make("div", { class: "finding" }, make("p", {}, make("b", {}, kind), ` in ${unique(fired.map((d) => d.run)).length} of ${data.rows.length} runs: ${fired[0].message}`),
        make("details", {}, make("summary", {}, "in which runs"), make("p", {}, fired.map((d) => `${d.run} (cycle ${d.cycle})`).join(", ")))));
    }
    if (!host.children.length) host.append(make("p", {}, "No run failed, and there are no warnings."));
  }

  for (const part of [header, learning, evaluation, panels, claims, results, prediction, trends, settings, runTable, warnings]) part();
  byId("run-details").open = wide;
  scrolls.watch();
  document.body.dataset.ready = "yes";
})();
