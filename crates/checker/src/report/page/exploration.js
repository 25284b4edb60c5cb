// What was covered: numbers, curves, and which reads saw what.
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

function exploration() {
  const report = view.data;
  const cards = report ? [summary(report), report.exploration && [curves(report.exploration), histories(report.exploration), reads(report)], stages(report), conditions(report)] : [];
  return h("div", { class: "exploration", tabindex: "0", "aria-label": "Exploration" }, cards.flat(), (data.plots ?? []).map(plotCard));
}

function summary(report) {
  const number = (value, name) => value !== null && value !== undefined && h("div", {}, h("b", {}, typeof value === "number" ? grouped(value) : value), h("span", {}, name));
  const covered = report.coverage ?? { violation: "until the first violation" }[report.stop] ?? `until it was stopped (${report.stop})`;
  return h("section", { class: "card whole", id: "summary" }, h("h2", {}, `${report.file} under ${report.memory.toUpperCase()}: ${report.verdict}`),
    h("div", { class: "numbers" }, number(report.executions, "executions"), report.states > 0 && number(report.states, "states"), number(report.steps, "steps"), number(report.histories, "combinations of histories"),
      number(report.final_states, "final memories"), report.seconds !== null && number(`${report.seconds.toFixed(2)} s`, "time")),
    h("p", {}, `Covered: ${covered}. Engine ${report.engine}.`));
}

function curves(exploration) {
  const points = exploration.progress ?? [];
  // A search that is over at once has no curve.
  if (points.length < 4) return null;
  const series = ["states", "executions"].map((name) => ({ name, points: points.map((point) => [point.seconds, point[name]]) })).filter((line) => line.points.some(([, y]) => y > 0));
  return plotCard({ title: "Over time", x: "seconds", y: "count", series });
}

function histories(exploration) {
  if (!exploration.histories.length) return null;
  return h("section", { class: "card", id: "histories" }, h("h2", {}, "Histories per thread"),
    h("table", {}, h("tr", {}, h("th", {}, "thread"), h("th", {}, "complete histories")), exploration.histories.map((thread) => h("tr", {}, h("td", {}, thread.thread), h("td", {}, grouped(thread.count))))),
    h("p", {}, "A history is what a thread's operations returned, in order."));
}

function reads(report) {
  const { reads, complete } = report.exploration;
  if (!reads.length) return null;
  const value = (seen) => h("span", { class: "value" }, seen.value_as ?? String(seen.value), " ", h("small", {}, `×${grouped(seen.count)}`));
  return h("section", { class: "card whole", id: "reads" }, h("h2", {}, "Which reads saw which values"),
    h("table", {}, h("tr", {}, h("th", {}, "line"), h("th", {}, "read"), h("th", {}, "of"), h("th", {}, "values, and in how many states")),
      reads.map((read) => h("tr", {}, h("td", {}, `${read.line}`), h("td", {}, h("code", {}, read.text)), h("td", { class: "mono" }, read.cells.join(", ")), h("td", {}, read.values.map(value))))),
    h("p", {}, complete ? "In all reachable states." : "In the states that were looked at: there are more."));
}

function stages(report) {
  const effort = report.effort;
  if (!effort) return null;
  const parts = [["running", effort.run_seconds], ["learning", effort.learn_seconds], ["solving", effort.solve_seconds]];
  const whole = parts.reduce((sum, part) => sum + part[1], 0) || 1;
  return h("section", { class: "card", id: "stages" }, h("h2", {}, "Where the time went"),
    h("div", { class: "share" }, parts.map(([name, seconds], at) => h("div", { style: `${colour(at)}; flex: ${Math.max(seconds / whole, 0.001)} 0 0`, title: `${name}: ${seconds.toFixed(3)} s` }, `${name} ${Math.round(100 * seconds / whole)} %`))),
    h("p", {}, `${grouped(effort.queries)} queries, ${grouped(effort.decisions)} decisions, ${grouped(effort.conflicts)} conflicts.`));
}

function conditions(report) {
  if (!report.observations.length) return null;
  const answer = (found) => (found === null ? "not found so far" : found ? "found" : "not found");
  return h("section", { class: "card", id: "conditions" }, h("h2", {}, "Questions"),
    h("table", {}, report.observations.map((asked) => h("tr", {}, h("td", {}, h("code", {}, asked.condition)), h("td", {}, answer(asked.found)), h("td", { class: "mono" }, asked.schedule ?? "")))));
}

/** Lines over a common axis; logarithmic where numbers differ by much. */
function plotCard(plot) {
  const all = plot.series.flatMap((line) => line.points);
  if (!all.length) return null;
  const [width, height, left, bottom] = [460, 220, 62, 28];
  const ys = all.map((point) => point[1]).filter((y) => y > 0);
  const [low, high] = [Math.min(...ys, 1), Math.max(...ys, 1)];
  const log = high / low > 50;
  const scale = (y) => (log ? Math.log10(Math.max(y, low) / low) / Math.max(Math.log10(high / low), 1e-9) : y / high);
  const [first, last] = [Math.min(...all.map((point) => point[0])), Math.max(...all.map((point) => point[0]))];
  const place = ([x, y]) => [left + (width - left - 12) * ((x - first) / Math.max(last - first, 1e-9)), (height - bottom) - (height - bottom - 12) * scale(y)];
  const short = (y) => (y >= 1e6 ? `${+(y / 1e6).toPrecision(3)} M` : y >= 1e4 ? `${+(y / 1e3).toPrecision(3)} k` : `${+y.toPrecision(3)}`);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => (log ? low * (high / low) ** part : high * part));
  const drawing = s("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": plot.title },
    ...ticks.flatMap((y) => { const at = place([first, y])[1]; return [s("line", { class: "axis", x1: left, x2: width - 12, y1: at, y2: at }), s("text", { x: left - 7, y: at + 4, "text-anchor": "end" }, short(y))]; }),
    s("text", { x: left, y: height - 8 }, short(first)), s("text", { x: width - 12, y: height - 8, "text-anchor": "end" }, short(last)), s("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, plot.x),
    ...plot.series.flatMap((line, at) => [s("polyline", { style: colour(at), points: line.points.map((point) => place(point).join(",")).join(" ") }),
      ...(line.points.length < 40 ? line.points.map((point) => { const [cx, cy] = place(point); return s("circle", { style: colour(at), cx, cy, r: 3 }, s("title", {}, `${line.name}: ${point[0]} → ${point[1]}`)); }) : [])]));
  return h("section", { class: "card plotted" }, h("h2", {}, plot.title), drawing, h("div", { class: "legend" }, plot.series.map((line, at) => h("span", {}, h("i", { style: colour(at) }), line.name)), h("span", {}, log ? "logarithmic" : "")));
}
