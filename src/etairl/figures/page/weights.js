"use strict";
// The law of the time index that a weighting draws; the same formulas as etairl.measures.index_laws.
const weights = (() => {
  function logFactorials(n) {
    const found = new Float64Array(n);
    for (let k = 1; k < n; k++) found[k] = found[k - 1] + Math.log(k);
    return found;
  }
  // log η(k) for k < n.
  function logEta(kind, parameter, n) {
    const found = new Float64Array(n).fill(-Infinity);
    if (kind === "poisson") {
      const factorials = logFactorials(n);
      for (let k = 0; k < n; k++) found[k] = k * Math.log(parameter) - parameter - factorials[k];
    } else if (parameter >= 1) found.fill(-Math.log(n));
    else if (parameter <= 0) found[0] = 0;
    else for (let k = 0; k < n; k++) found[k] = Math.log1p(-parameter) + k * Math.log(parameter);
    return found;
  }
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  function law(kind, parameter, gamma, method, n) {
    const log = logEta(kind, parameter, n), found = new Float64Array(n);
    if (method === "exact") {
      let highest = -Infinity, last = 0;
      for (const value of log) highest = Math.max(highest, value);
      for (let k = 0; k < n; k++) found[k] = last = gamma * last + Math.exp(log[k] - highest);
    } else {
      const mass = new Float64Array(n);
      let before = -Infinity;
      for (let k = 0; k < n; k++) {
        const high = Math.max(before, log[k]);
        mass[k] = before = high === -Infinity ? high : high + Math.log(Math.exp(before - high) + Math.exp(log[k] - high));
      }
      for (let t = 0; t < n; t++) {
        const start = gamma >= 1 ? 0 : gamma <= 0 ? (t ? -Infinity : 0) : t * Math.log(gamma);
        if (start === -Infinity) break;
        for (let k = 0; k < n - t; k++) found[t + k] += Math.exp(start + log[k] - mass[n - t - 1]);
      }
    }
    const total = sum(found);
    return found.map((value) => value / total);
  }
  // Mean cost under a law, over episodes of which a share is alive at each step.
  function meanCost(law, side) {
    let mass = 0, cost = 0;
    law.forEach((w, n) => {
      if (side.by_time[n] === null || side.by_time[n] === undefined) return;
      mass += w * side.alive[n]; cost += w * side.alive[n] * side.by_time[n];
    });
    return mass > 0 ? cost / mass : null;
  }
  return { law, meanCost, sum };
})();
