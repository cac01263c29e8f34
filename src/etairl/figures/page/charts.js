"use strict";
// Charts as SVG: means with intervals, dots for runs, a thin dashed line for the expert's floor.
const charts = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const NAMES = { mmd2_rho: "MMD² of ρ", mmd2_mu: "MMD² of μ", score: "score", shortfall: "1 − score", success: "share of tasks solved", return: "return" };
  const HUES = { mmd2_rho: 212, mmd2_mu: 145, score: 4, success: 280 };
  const SVG = "http://www.w3.org/2000/svg", WIDTH = 360, LETTER = 6.2;
  const label = (eta) => data.weightings[eta]?.label ?? eta;

  function make(tag, attributes, ...children) {
    const isSvg = ["svg", "g", "line", "path", "circle", "text", "rect", "title"].includes(tag);
    const node = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    for (const child of children) node.append(child);
    return node;
  }
  const number = (x, digits = 3) => x === null || x === undefined || Number.isNaN(x) ? "" :
    Math.abs(x) >= 1e5 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(2) : String(Number(x.toPrecision(digits + 1)));
  const percent = (x) => x === null || x === undefined ? "" : `${x > 0 ? "+" : x < 0 ? "−" : ""}${Math.abs(100 * x).toFixed(1)}\u00a0%`;
  const interval = (m, of = number) => !m || m.low === null || m.low === undefined ? "" : ` [${of(m.low)}, ${of(m.high)}]`;
  const spread = (m) => number(m.value, 2) + interval(m, (x) => number(x, 2));
  const range = (pair) => !pair ? "" : (pair[0] === pair[1] ? [pair[0]] : pair).map((n) => n.toLocaleString("en")).join(" to ");

  const tip = document.getElementById("tip");
  function showTip(event, text) {
    tip.textContent = text; tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 4))}px`;
  }
  // A mouse has its tip while it is over, a finger until it taps elsewhere or scrolls.
  let hideLast = () => {};
  document.addEventListener("pointerdown", () => hideLast(), true);
  function watch(hit, text, away = () => {}) {
    const hide = () => { tip.hidden = true; away(); };
    for (const kind of ["pointerdown", "pointermove"]) hit.addEventListener(kind, (event) => { hideLast = hide; showTip(event, text(event)); });
    hit.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hide(); });
    hit.addEventListener("pointercancel", hide);
  }
  function hover(svg, box, text) {
    const hit = make("rect", { ...box, fill: "transparent", class: "hit" });
    watch(hit, () => text);
    svg.append(hit);
  }

  // L = 0.2126 R + 0.7152 G + 0.0722 B, of linear parts. Contrast (L₁ + 0.05) / (L₂ + 0.05) with a
  // card is over 3 at L ≤ 0.26 on the light one, and at L ≥ 0.16 on the dark one.
  function luminance(hue, lightness) {
    const part = (n) => {
      const k = (n + hue / 30) % 12, v = lightness - 0.6 * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(0) + 0.7152 * part(8) + 0.0722 * part(4);
  }
  // The class "ink" has the one or the other as its colour, by the theme.
  function inks(hue) {
    let light = 52, dark = 52;
    while (luminance(hue, light / 100) > 0.26) light -= 1;
    while (luminance(hue, dark / 100) < 0.16) dark += 1;
    return `--light: hsl(${hue} 60% ${light}%); --dark: hsl(${hue} 60% ${dark}%)`;
  }

  function ticks(low, high, count = 6) {
    const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const found = [];
    for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step) found.push(Number(x.toPrecision(12)));
    return found;
  }
  function frame(width, height, left, low, high, log, name, below = 30) {
    const top = 10, bottom = height - below, of = log ? Math.log10 : (v) => v;
    const [a, b] = [of(low), of(high)];
    const y = (v) => bottom - (of(v) - a) / (b - a || 1) * (bottom - top);
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name });
    const at = log ? ticks(a, b, 3).map((t) => 10 ** t) : ticks(low, high);
    for (const t of at) {
      svg.append(make("line", { class: "axis", x1: left, x2: width - 8, y1: y(t), y2: y(t) }));
      svg.append(make("text", { x: left - 5, y: y(t) + 4, "text-anchor": "end" }, number(t, 2)));
    }
    return { svg, y, bottom, left, right: width - 8 };
  }

  const rowsOf = (e) => data.rows.filter((r) => r.env === e.env && r.arm === e.arm && r.eta === e.eta);
  const values = (e, metric) => rowsOf(e).map((r) => r[metric]).filter((v) => v !== null && v !== undefined);
  function extent(entries, metric, more = []) {
    const all = [...more, ...entries.flatMap((e) => [e[metric].mean.low, e[metric].mean.high, e[metric].mean.value, ...values(e, metric)])].filter((v) => v !== null && v !== undefined);
    const low = Math.min(0, ...all), high = Math.max(...all);
    return [low, high + 0.05 * (high - low) || 1];
  }
  // Of the setting with κ = 0: its arm, where the data do not say it, is the same one or else the base.
  function baseline(e) {
    if (!e.baseline) return null;
    const arm = e.baseline_arm ?? [e.arm, ...data.base_arms].find((a) => data.settings.some((s) => s.env === e.env && s.arm === a && s.eta === e.baseline));
    return data.settings.find((s) => s.env === e.env && s.arm === arm && s.eta === e.baseline) ?? null;
  }
  const named = (e) => `${label(e.eta)}, ${e.arm}`;
  // Both values first, then the change as a share, or why there is none.
  function change(versus, other, metric) {
    if (!versus) return "";
    const theirs = versus.other ?? other?.[metric]?.mean.value, ours = versus.ours ?? theirs + versus.difference.value;
    const share = versus.relative.value === null || versus.relative.value === undefined ? `no share (${versus.relative.note ?? "the base is 0"})` : percent(versus.relative.value) + interval(versus.relative, percent);
    return theirs === undefined || theirs === null ? share : `${number(theirs, 2)} → ${number(ours, 2)}: ${share}`;
  }
  function words(e, metric) {
    const m = e[metric].mean, base = baseline(e), lines = [`${e.env}, ${e.arm}, ${e.eta}`, `${NAMES[metric]}: ${number(m.value)}${interval(m)}`,
      `interquartile mean: ${number(e[metric].iqm.value)}`, `${e.seeds.length} seed${e.seeds.length === 1 ? "" : "s"}, ${range(e.effort.cycles)} cycles`];
    const versus = e[metric].against_baseline;
    if (versus && base) lines.push(`beside ${named(base)}: ${change(versus, base, metric)}${versus.p_t === null ? "" : `, p = ${number(versus.p_t, 1)}`}`);
    return lines.join("\n");
  }
  function floorLine(f, env, metric, high) {
    const floor = data.floors[env]?.[metric];
    if (floor === null || floor === undefined || floor > high) return;
    f.svg.append(make("line", { class: "cursor floor", x1: f.left, x2: f.right, y1: f.y(floor), y2: f.y(floor) }));
  }
  const filled = (hue, name = "") => ({ class: `ink ${name}`, style: inks(hue), fill: "currentColor" });
  const drawn = (hue, name = "") => ({ class: `ink ${name}`, style: inks(hue), fill: "none", stroke: "currentColor", "stroke-width": 1.6 });
  function point(f, x, e, metric, hue) {
    const m = e[metric].mean;
    for (const v of values(e, metric)) f.svg.append(make("circle", { ...filled(hue, "run"), cx: x + 5, cy: f.y(v), r: 1.8, opacity: 0.5 }));
    if (m.low !== null) f.svg.append(make("line", { ...drawn(hue), x1: x, x2: x, y1: f.y(m.low), y2: f.y(m.high) }));
    f.svg.append(make("circle", { ...filled(hue), cx: x, cy: f.y(m.value), r: 3.4 }));
  }
  function joined(f, points, hue) {
    const path = points.map(([x, v], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${f.y(v).toFixed(1)}`).join("");
    f.svg.append(make("path", { ...drawn(hue, "line"), d: path }));
  }
  function tick(f, x, text, turned) {
    const y = f.bottom + (turned ? 8 : 15);
    f.svg.append(make("text", { class: "tick", x, y, ...(turned ? { "text-anchor": "end", transform: `rotate(-60 ${x} ${y})`, dx: 2, dy: 3 } : { "text-anchor": "middle" }) }, text));
  }
  const caption = (env, arm, metric, rest) => make("figcaption", {}, `${env}${data.base_arms.includes(arm) ? "" : `, ${arm}`}: ${NAMES[metric]}${rest}`);

  // A metric against the weighting: κ, λ and others each with a line of its own, and a gap between.
  function weightings(env, arm, metric, entries) {
    const family = (e) => data.weightings[e.eta].family, places = [];
    let at = 0;
    entries.forEach((e, i) => { at += i === 0 ? 0 : family(e) === family(entries[i - 1]) ? 1 : 1.6; places.push(at); });
    const [low, high] = extent(entries, metric), longest = Math.max(...entries.map((e) => label(e.eta).length));
    const turned = longest * LETTER > (WIDTH - 56) / (at + 1) - 4, below = turned ? 16 + longest * LETTER * 0.87 : 30;
    const f = frame(WIDTH, 180 + below, 48, low, high, false, `${NAMES[metric]} on ${env}`, below);
    const x = places.map((p) => f.left + (p + 0.5) * (f.right - f.left) / (at + 1));
    for (const name of new Set(entries.map(family)))
      joined(f, entries.map((e, i) => [x[i], e[metric].mean.value, family(e)]).filter((p) => p[2] === name), HUES[metric]);
    const wide = (f.right - f.left) / (at + 1);
    floorLine(f, env, metric, high);
    entries.forEach((e, i) => {
      point(f, x[i], e, metric, HUES[metric]);
      tick(f, x[i], label(e.eta), turned);
      hover(f.svg, { x: x[i] - wide / 2, y: 0, width: wide, height: 180 + below }, words(e, metric));
    });
    return make("figure", {}, caption(env, arm, metric, ""), f.svg);
  }

  // GAIL against its discount; the best MEGAN as a level with its interval.
  function discounts(found, metric) {
    const setting = (cell) => cell && data.settings.find((e) => e.env === found.env && e.arm === cell.arm && e.eta === cell.eta);
    const gail = found.gail.map((g) => ({ gamma: g.gamma, entry: setting(g) })).filter((g) => g.entry[metric]), megan = setting(found.megan);
    const shown = gail.map((g) => g.entry), best = megan && megan[metric] ? megan : null;
    if (shown.length < 2) return null;
    const [low, high] = extent(best ? [...shown, best] : shown, metric);
    const f = frame(WIDTH, 216, 48, low, high, false, `${NAMES[metric]} of GAIL on ${found.env}`, 36);
    const wide = (f.right - f.left) / (gail.length + 0.6), x = gail.map((_, i) => f.left + (i + 0.5) * wide), red = 4, blue = 212;
    if (best) {
      const m = best[metric].mean;
      if (m.low !== null) f.svg.append(make("rect", { ...filled(red, "band"), x: f.left, width: f.right - f.left, y: f.y(m.high), height: f.y(m.low) - f.y(m.high), opacity: 0.15 }));
      f.svg.append(make("line", { ...drawn(red, "level"), x1: f.left, x2: f.right, y1: f.y(m.value), y2: f.y(m.value) }));
      for (const v of values(best, metric)) f.svg.append(make("circle", { ...filled(red, "run"), cx: f.right - 8, cy: f.y(v), r: 1.8, opacity: 0.6 }));
      hover(f.svg, { x: f.right - 0.6 * wide, y: 0, width: 0.6 * wide, height: f.bottom }, `best MEGAN\n${words(best, metric)}`);
    }
    joined(f, gail.map((g, i) => [x[i], g.entry[metric].mean.value]), blue);
    floorLine(f, found.env, metric, high);
    gail.forEach((g, i) => {
      point(f, x[i], g.entry, metric, blue);
      tick(f, x[i], String(g.gamma), false);
      hover(f.svg, { x: x[i] - wide / 2, y: 0, width: wide, height: 216 }, `GAIL, γ_RL = ${g.gamma}\n${words(g.entry, metric)}`);
    });
    f.svg.append(make("text", { x: f.right, y: 212, "text-anchor": "end" }, "γ_RL of GAIL"));
    return make("figure", {}, caption(found.env, "default", metric, `, GAIL blue${best ? `, best MEGAN (${label(best.eta)}, the lowest of ${found.of}) red` : ""}`), f.svg);
  }

  // Every setting of an environment, one below the other.
  function arms(env, metric, entries) {
    const names = entries.map((e) => `${e.arm}, ${label(e.eta)}`), left = Math.min(190, 14 + 6.7 * Math.max(...names.map((n) => n.length)));
    const most = Math.floor((left - 14) / 6.7), cut = (n) => n.length > most ? `${n.slice(0, most - 1)}…` : n;
    const [low, high] = extent(entries, metric), height = 40 + 17 * entries.length, right = WIDTH - 14, x = (v) => left + (v - low) / (high - low) * (right - left);
    const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${NAMES[metric]} of all settings on ${env}` });
    for (const t of ticks(low, high, 3)) svg.append(make("line", { class: "axis", x1: x(t), x2: x(t), y1: 6, y2: height - 24 }), make("text", { x: x(t), y: height - 9, "text-anchor": "middle" }, number(t, 2)));
    const floor = data.floors[env]?.[metric];
    if (floor !== null && floor !== undefined && floor < high) svg.append(make("line", { class: "cursor floor", x1: x(floor), x2: x(floor), y1: 6, y2: height - 24 }));
    entries.forEach((e, i) => {
      const m = e[metric].mean, y = 17 + 17 * i;
      svg.append(make("text", { x: left - 7, y: y + 4, "text-anchor": "end" }, cut(names[i])));
      for (const v of values(e, metric)) svg.append(make("circle", { ...filled(HUES[metric], "run"), cx: x(v), cy: y + 4.5, r: 1.6, opacity: 0.5 }));
      if (m.low !== null) svg.append(make("line", { ...drawn(HUES[metric]), x1: x(m.low), x2: x(m.high), y1: y, y2: y }));
      svg.append(make("circle", { ...filled(HUES[metric]), cx: x(m.value), cy: y, r: 3.2 }));
      hover(svg, { x: 0, y: y - 8, width: WIDTH, height: 17 }, words(e, metric));
    });
    return make("figure", {}, caption(env, "default", metric, ", all settings"), svg);
  }

  return { NAMES, make, number, percent, interval, spread, range, label, named, baseline, change, watch, inks, ticks, frame, weightings, discounts, arms };
})();
