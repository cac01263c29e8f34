(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg", SIDES = ["learner", "demonstrations"];
  const given = (x) => x !== null && x !== undefined && Number.isFinite(x);
  const number = (x, digits = 3) => !given(x) ? "–" : Math.abs(x) < 1e-12 ? "0" : (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5) ? x.toExponential(2) : String(Number(x.toPrecision(digits)))).replace("-", "−");
  const signed = (x) => `${x > 1e-12 ? "+" : ""}${given(x) && Math.abs(x) >= 1e-3 && Math.abs(x) < 100 ? x.toPrecision(2).replace("-", "−") : number(x, 2)}`;
  const small = (x) => !given(x) ? "–" : Math.abs(x) < 5e-5 ? "0.0000" : x.toFixed(4).replace("-", "−");
  const picked = { learner: 0, demonstrations: 0 };

  function make(tag, attributes, ...children) {
    const drawn = ["svg", "g", "line", "path", "circle", "text"].includes(tag);
    const node = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }
  function without(id) {
    byId(id).hidden = true;
    document.querySelector(`nav a[href="#${id}"]`)?.remove();
  }
  function ticks(low, high, many) {
    const rough = (high - low) / many, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= rough), found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(Number((i * step).toPrecision(12)));
    return found;
  }
  // Lines over steps: each { kind, points: [[x, y]…] }. Returns where a step is.
  function chart(host, lines, last, words, upwards) {
    const width = Math.max(280, Math.min(host.clientWidth || 700, 1100)), height = 250, left = 48, bottom = 34, top = 24;
    const ys = lines.flatMap((l) => l.points.map((p) => p[1])).filter(given);
    let low = Math.min(...ys), high = Math.max(...ys);
    if (!(high > low)) { low -= 0.5; high += 0.5; }
    const pad = 0.05 * (high - low); low -= pad; high += pad;
    const x = (v) => left + (width - left - 10) * v / Math.max(last, 1), y = (v) => top + (height - bottom - top) * (high - v) / (high - low);
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
    svg.append(make("text", { x: 2, y: 13 }, upwards));
    for (const tick of ticks(low, high, 5)) {
      svg.append(make("line", { class: "axis", x1: left, x2: width - 10, y1: y(tick), y2: y(tick) }));
      svg.append(make("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    }
    for (const tick of ticks(0, Math.max(last, 1), width < 500 ? 4 : 8)) svg.append(make("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle" }, number(tick, 6)));
    svg.append(make("text", { x: (left + width) / 2, y: height - 2, "text-anchor": "middle" }, "step"));
    for (const line of lines) {
      let path = "", pen = false;
      for (const [a, b] of line.points) { if (given(b)) path += `${pen ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`; pen = given(b); }
      svg.append(make("path", { class: `line ${line.kind}`, d: path }));
    }
    host.replaceChildren(svg);
    return { svg, x, y, at: (event) => { const box = svg.getBoundingClientRect(); return ((event.clientX - box.left) * width / box.width - left) / (width - left - 10) * last; } };
  }

  function verdicts() {
    byId("title").textContent = `What ${data.run} learned`;
    byId("about").textContent = data.about;
    for (const v of data.verdicts) byId("verdict-list").append(make("div", { class: `finding ${v.kind}` }, make("p", {}, make("b", {}, v.title), ` — ${v.text}`)));
  }

  const episode = (side) => data.sides[side].episodes[picked[side]];
  const costAt = (side, step) => step < episode(side).length ? episode(side).costs[Math.floor(step / data.sides[side].stride)] : null;
  const slider = byId("step");
  let drawn = null, marks = null, shown = {};

  // Means over as many points as a moment has, as the moments are; single steps of a long episode are a tangle.
  function smoothed(values, width) {
    return values.map((v, n) => {
      const near = given(v) ? values.slice(Math.max(0, n - Math.floor((width - 1) / 2)), n + Math.floor(width / 2) + 1).filter(given) : [];
      return near.length ? weights.sum(near) / near.length : null;
    });
  }
  function drawCosts(step) {
    const lines = [];
    let last = 1;
    for (const side of [...SIDES].reverse()) {
      const { stride, by_time } = data.sides[side], costs = episode(side).costs, wide = Math.round(data.window / stride);
      const points = (values, every) => values.map((c, n) => [n * every, c]);
      lines.unshift({ kind: `${side} mean`, points: points(smoothed(by_time, data.window), 1) });
      if (wide > 1) lines.unshift({ kind: `${side} each`, points: points(costs, stride) });
      lines.push({ kind: side, points: points(smoothed(costs, wide), stride) });
      last = Math.max(last, episode(side).length - 1);
    }
    for (const line of lines) line.points = line.points.filter((p) => p[0] <= last);
    slider.max = last;
    drawn = chart(byId("cost-chart"), lines, last, `Learned cost over steps: ${episode("learner").title} and ${episode("demonstrations").title}`, "learned cost");
    marks = { line: make("line", { class: "cursor", y1: 24, y2: 216 }) };
    for (const side of SIDES) marks[side] = make("circle", { class: `dot ${side}`, r: 4.5 });
    drawn.svg.append(...Object.values(marks));
    const go = (event) => { if (event.type === "pointerdown" || event.buttons) { slider.value = Math.round(drawn.at(event)); move(); } };
    for (const kind of ["pointerdown", "pointermove"]) drawn.svg.addEventListener(kind, go);
    slider.value = step ?? costliest();
    film(); move();
  }
  // Of the learner's episode the moment that is listed first, else its highest cost.
  function costliest() {
    const listed = data.moments.find((m) => m.episode === picked.learner);
    if (listed) return listed.step;
    const costs = episode("learner").costs.map((c) => c ?? -Infinity);
    return costs.indexOf(Math.max(...costs)) * data.sides.learner.stride;
  }
  const frames = (side) => data.film[side][episode(side).number] ?? [];
  function film() {
    const host = byId("film"); host.replaceChildren(); shown = {};
    for (const side of SIDES) {
      if (!frames(side).length) continue;
      const picture = make("img", { alt: "", width: 280, height: 210 }), words = make("figcaption", {});
      host.append(make("figure", {}, picture, words)); shown[side] = { picture, words };
    }
    const without = SIDES.filter((side) => !frames(side).length && Object.keys(data.film[side]).length).map((side) => episode(side).title);
    const left = SIDES.filter((side) => data.sides[side].left_out).map((side) => `Not shown here, but in all numbers: of the ${side} ${data.sides[side].left_out} more.`);
    if (without.length) left.unshift(`There are no pictures of ${without.join(" and ")}: pictures are large, so only some episodes have them.`);
    byId("film-notes").textContent = [...data.film.notes, ...left].join(" ");
  }
  function move() {
    const step = Number(slider.value), words = [`step ${step}`];
    marks.line.setAttribute("x1", drawn.x(step)); marks.line.setAttribute("x2", drawn.x(step));
    for (const side of SIDES) {
      const cost = costAt(side, step), one = side === "learner" ? "learner" : "demonstration";
      words.push(`${one} ${given(cost) ? number(cost) : "has ended"}`);
      marks[side].style.display = given(cost) ? "" : "none";
      if (given(cost)) { marks[side].setAttribute("cx", drawn.x(step)); marks[side].setAttribute("cy", drawn.y(cost)); }
      if (shown[side]) {
        const nearest = frames(side).reduce((a, b) => Math.abs(b.step - step) < Math.abs(a.step - step) ? b : a);
        shown[side].picture.src = nearest.source;
        shown[side].picture.alt = `${one} at step ${nearest.step}`;
        shown[side].words.textContent = `${one}, step ${nearest.step}`;
      }
    }
    const text = `${words[0]}: cost of the ${words[1]}, of the ${words[2]}`;
    byId("step-value").textContent = text; slider.setAttribute("aria-valuetext", text);
    drawMap();
  }
  function pickers() {
    for (const side of SIDES) {
      const select = byId(`pick-${side}`);
      data.sides[side].episodes.forEach((e, i) => select.append(make("option", { value: i }, `${e.title}, ${e.length} steps${e.ended ? ", ended early" : ""}`)));
      select.addEventListener("change", () => { picked[side] = Number(select.value); drawCosts(); });
    }
    byId("each").hidden = data.window === 1;
    slider.addEventListener("input", move);
    const first = data.moments[0]?.episode ?? 0, drawn = data.film.learner;
    if (!Object.keys(drawn).length || drawn[data.sides.learner.episodes[first].number]) picked.learner = first;
    byId("pick-learner").value = picked.learner;
  }

  function bars(columns) {
    const most = Math.max(...columns.map((c) => Math.abs(c.share)), 1e-12), list = make("ul", { class: "bars" });
    for (const c of columns) {
      const bar = make("span", { class: `bar${c.share < 0 ? " less" : ""}`, "aria-hidden": "true" });
      bar.style.width = `${100 * Math.abs(c.share) / most}%`;
      list.append(make("li", c.usual ? { class: "noise" } : {}, make("span", { class: "name" }, c.name), make("span", {}, bar), make("span", { class: "value" }, `${signed(c.share)} at ${signed(c.deviation)} σ${c.usual ? ", usual" : ""}`)));
    }
    return list;
  }
  function moments() {
    const then = data.moments.some((m) => number(m.usual) !== number(m.typical));
    byId("moment-note").textContent = `Where the learner costs most beside the demonstrations${then ? " at the same step" : ""}; ${data.window === 1 ? "one step" : `${data.window} steps`} each. Bars: what each column adds to that gap (orange) or takes off it (blue); σ: how far the column is from the mean of the demonstrations${then ? " then" : ""}, in units of their spread. Usual: demonstrations have as much at their own costliest moments.${data.verdicts[1].kind === "yes" ? "" : " The demonstrations have such moments, too: this may be noise."}`;
    for (const [i, m] of data.moments.entries()) {
      // A learner that does the same in all of its episodes has the same moment in all of them.
      const like = data.moments.slice(0, i).find((o) => o.columns[0].name === m.columns[0].name && Math.abs(o.step - m.step) <= data.window);
      const button = make("button", { type: "button", "aria-label": `Show learner ${m.number} at step ${m.step}` }, "Show");
      button.addEventListener("click", () => {
        picked.learner = m.episode; byId("pick-learner").value = m.episode; drawCosts(m.step); byId("episodes").scrollIntoView(); slider.focus({ preventScroll: true });
      });
      byId("moment-list").append(make("article", { class: "card" }, make("h3", {}, `learner ${m.number}, step ${m.step}`), make("p", {}, `cost ${number(m.cost)}; demonstrations ${number(m.usual) === number(m.typical) ? "" : `at this step ${number(m.usual)}, `}at all steps ${number(m.typical)}${like ? `. Much as learner ${like.number}` : ""}`), bars(m.columns.slice(0, like ? 1 : 4)), button));
    }
  }

  function fill(id, heads, rows) {
    const head = make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h)));
    const body = rows.map((row) => make("tr", {}, ...row.map((cell, i) => make(i ? "td" : "th", i ? {} : { scope: "row" }, cell))));
    byId(id).append(make("thead", {}, head), make("tbody", {}, ...body));
  }
  function tables() {
    const verdict = (c) => !given(c.p) ? "too few episodes" : c.noise ? "noise" : "real";
    const chance = (c) => !given(c.p) ? "–" : c.p < 0.001 ? "< 0.001" : number(c.p, 2);
    fill("column-table", ["column", "whole episodes", "share", "p", "costliest moments", "share", "p", "deviation"], data.columns.map((c) =>
      [c.name, verdict(c.whole), signed(c.whole.gap), chance(c.whole), verdict(c.there), signed(c.there.gap), chance(c.there), `${signed(c.deviation)} σ`]));
    fill("quarter-table", ["steps", "MMD² of ρ", "MMD² of μ", "floor of μ", "verdict", "alive"], data.quarters.map((q) => {
      const mu = q.mmd2_mu, word = !mu ? "–" : !given(mu.floor) ? "no floor" : mu.value > mu.floor ? "differs" : "as the floor";
      return [`${q.begin}–${q.end - 1}`, small(q.mmd2_rho?.value), small(mu?.value), small(mu?.floor), word, `${Math.round(100 * q.alive)} %`];
    }));
    if (!data.features?.length) return without("features");
    fill("feature-table", ["feature", "weight", "gap", "±"], data.features.map((f) => [f.name, signed(f.weight), signed(f.gap), number(f.standard_error, 2)]));
    if (data.more_features) byId("feature-table").after(make("p", { class: "note" }, `and ${data.more_features} lighter ones`));
  }

  function weighting() {
    const w = data.weights, kappa = byId("kappa"), lambda = byId("lambda"), radios = [...document.getElementsByName("law")];
    lambda.max = Math.max(2, data.horizon); lambda.value = w.name === "poisson" ? w.numbers[0] : Math.min(25, data.horizon / 4);
    if (w.name === "geometric") kappa.value = w.numbers[0];
    byId("law-run").textContent = `this run’s: ${w.eta}`;
    const uniform = data.horizon ? 1 / data.horizon : 1;
    function show() {
      const kind = radios.find((r) => r.checked).value;
      const law = kind === "run" ? w.law : weights.law(kind, Number((kind === "poisson" ? lambda : kappa).value), w.gamma, w.method, data.horizon);
      byId("kappa-value").textContent = `κ = ${kappa.value}, looks ${Number(kappa.value) < 1 ? number(kappa.value / (1 - kappa.value)) : "any number of"} steps ahead on average`;
      byId("lambda-value").textContent = `λ = ${lambda.value} steps ahead on average`;
      const shares = Array.from(law, (v) => v / uniform);
      chart(byId("weight-chart"), [{ kind: "weight", points: shares.map((v, n) => [n, v]).concat([[0, null], [0, 0]]) }], data.horizon - 1, "Weight of each step, beside drawing all alike", "times as often as drawing all alike");
      const quarter = Math.floor(3 * data.horizon / 4), total = weights.sum(Array.from(law));
      const rows = [["mean step", number(weights.sum(Array.from(law, (v, n) => v * n)) / total, 4)], ["last quarter", `${number(100 * weights.sum(Array.from(law).slice(quarter)) / total)} %`], ["last frame", `${number(shares[shares.length - 1])} times`]];
      for (const side of SIDES) rows.push([`mean cost, ${side}`, number(weights.meanCost(Array.from(law), data.sides[side]), 4)]);
      byId("weight-numbers").replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    }
    const choose = (value) => { radios.find((r) => r.value === value).checked = true; show(); };
    kappa.addEventListener("input", () => choose("geometric"));
    lambda.addEventListener("input", () => choose("poisson"));
    for (const radio of radios) radio.addEventListener("change", show);
    show();
    return show;
  }

  const RAMP = [[253, 231, 37], [94, 201, 98], [33, 145, 140], [59, 82, 139], [68, 1, 84]];
  function colour(share) {
    const at = share * (RAMP.length - 1), i = Math.min(Math.floor(at), RAMP.length - 2), f = at - i;
    return RAMP[i].map((c, k) => Math.round(c + f * (RAMP[i + 1][k] - c)));
  }
  function drawMap() {
    const plane = data.plane;
    if (!plane) return;
    const side = byId("pick-map").value, n = plane.cells, size = 520, canvas = byId("map-canvas"), pen = canvas.getContext("2d");
    const small = make("canvas", { width: n, height: n }), coded = plane.maps[side][picked[side]], codes = coded ? Uint8Array.from(atob(coded), (c) => c.charCodeAt(0)) : new Uint8Array(n * n);
    byId("map-none").textContent = coded ? "" : `There is no map for ${episode(side).title}: some episodes are left out to keep the page small.`;
    const picture = small.getContext("2d").createImageData(n, n);
    codes.forEach((code, i) => {
      const row = n - 1 - Math.floor(i / n), at = 4 * (row * n + i % n);
      picture.data.set(code ? [...colour((code - 1) / 254), 255] : [130, 150, 170, 60], at);
    });
    small.getContext("2d").putImageData(picture, 0, 0);
    canvas.width = canvas.height = size;
    pen.imageSmoothingEnabled = false; pen.drawImage(small, 0, 0, size, size);
    const place = (p) => [0, 1].map((k) => { const s = (p[k] - plane.low[k]) / (plane.high[k] - plane.low[k] || 1); return size * (k ? 1 - s : s); });
    const step = Number(slider.value);
    for (const one of SIDES) {
      const way = plane.ways[one][picked[one]];
      pen.setLineDash(one === "learner" ? [] : [9, 6]);
      for (const [width, ink] of [[5, "#fff"], [2.5, one === "learner" ? "#b34700" : "#1b5fa8"]]) {
        pen.lineWidth = width; pen.strokeStyle = ink; pen.beginPath();
        way.forEach((p, i) => (i ? pen.lineTo(...place(p)) : pen.moveTo(...place(p))));
        pen.stroke();
      }
      const here = way[Math.min(Math.round(step * way.length / Math.max(1, episode(one).length)), way.length - 1)];
      pen.setLineDash([]); pen.beginPath(); pen.arc(...place(here), 8, 0, 7); pen.fillStyle = one === "learner" ? "#b34700" : "#1b5fa8"; pen.fill(); pen.lineWidth = 2; pen.strokeStyle = "#fff"; pen.stroke();
    }
    canvas.setAttribute("aria-label", `Learned cost over ${plane.names.join(" and ")}, with the ways of ${episode("learner").title} and ${episode("demonstrations").title}, at step ${step}`);
  }
  function map() {
    if (!data.plane) { without("map"); byId("pick-map").replaceChildren(); return; }
    const plane = data.plane, select = byId("pick-map");
    byId("map-note").textContent = `${plane.names[0]} to the right, ${plane.names[1]} upwards; all else as the chosen episode has it${plane.at_rest ? ", and standing still" : ""}. Bright is low. Solid: the learner; dashed: the demonstration; dots: the step chosen above.`;
    for (const side of [...SIDES].reverse()) select.append(make("option", { value: side }, side === "learner" ? "the learner’s episode" : "the demonstration"));
    select.addEventListener("change", drawMap);
    byId("map-scale").append(make("span", {}, number(plane.range[0])), make("span", { class: "ramp", "aria-hidden": "true" }), make("span", {}, number(plane.range[1])));
  }

  verdicts(); map(); pickers(); moments(); tables(); drawCosts();
  const redrawWeights = weighting();
  scrolls.watch();
  let wide = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== wide) { wide = innerWidth; drawCosts(Number(slider.value)); redrawWeights(); } });
})();
