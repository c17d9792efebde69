#include "breakdown/page.hpp"

namespace weft::breakdown {

const std::string_view page_begin = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>weft breakdown</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; color: #1d2733; margin: 0 auto; max-width: 1080px; padding: 0 20px 60px; background: #fbfbf9; }
h1 { font-size: 24px; margin: 28px 0 2px; } h1, .facts, .advice li { overflow-wrap: anywhere; } h2 { font-size: 18px; margin: 36px 0 8px; }
.facts { color: #5b6672; } .advice li { margin: 4px 0; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; color: #5b6672; font-weight: 600; border-bottom: 1px solid #cfd4d8; }
td, th { padding: 3px 10px 3px 0; vertical-align: top; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } td.n { white-space: nowrap; } td.n + td:not(.n), th.n + th:not(.n) { padding-left: 8px; }
tr:nth-child(even) td { background: #f3f3ef; } tr.name td { background: none; padding-top: 8px; overflow-wrap: anywhere; }
.legend span { display: inline-block; margin-right: 14px; } .legend i { display: inline-block; width: 11px; height: 11px; margin-right: 5px; border-radius: 2px; }
svg text { font: 12px system-ui, sans-serif; fill: #1d2733; } svg .axis { stroke: #cfd4d8; }
.note { color: #5b6672; font-size: 13px; } button { font: inherit; padding: 2px 10px; margin-right: 6px; cursor: pointer; }
.row:hover rect { opacity: .82; } .row { cursor: pointer; }
label.slider { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr) 60px; gap: 12px; align-items: center; margin: 5px 0; overflow-wrap: anywhere; } label.slider input { min-width: 0; }
.bar { display: grid; grid-template-columns: 62px minmax(0, 2fr) minmax(0, 3fr); gap: 10px; align-items: center; font-size: 13px; margin: 4px 0; overflow-wrap: anywhere; } .bar b { font-weight: normal; text-align: right; } .bar i { display: inline-block; height: 15px; vertical-align: middle; }
canvas { max-width: 100%; image-rendering: pixelated; border: 1px solid #cfd4d8; cursor: crosshair; }
#tip { position: fixed; background: #1d2733; color: #fff; padding: 4px 9px; border-radius: 4px; font-size: 13px; pointer-events: none; display: none; white-space: pre; }
</style>
</head>
<body>
<h1 id="title"></h1>
<div class="facts" id="facts"></div>
<h2>What to do</h2><ul class="advice" id="advice"></ul>
<h2>Efficiency</h2><div id="efficiency"></div>
<h2>Where the time of each rank goes</h2><div class="legend" id="legend"></div>
<p class="note" id="ranks-note"></p><div id="ranks"></div>
<h2>Who waits for whom</h2><p><span id="filter" class="note"></span></p><div id="waits"></div>
<section id="of-run" hidden><h2>What the end of the run hangs on</h2><p class="note" id="run-note"></p>
<h3>Critical path</h3><div id="path"></div>
<h3>Delays, by who caused them</h3><p class="note">What others computed while ranks waited for them; by way of others: those waited themselves.</p><div id="delays"></div>
<h3>How much longer each message may take</h3><div id="tolerance"></div></section>
<h2>From rank to rank</h2><p id="matrix-choice"></p><div id="matrix"></div>
<h2>Sizes of messages</h2><div id="sizes"></div>
<h2>What if</h2><p class="note" id="what-if-note">How much shorter the run becomes, at most, when a part of it shrinks. What overlaps with other work brings less.</p>
<div id="sliders"></div><p id="what-if-sum"></p><div id="curves"></div>
<div id="message"></div>
<section id="of-regions" hidden><h2>Regions</h2><div id="regions"></div>
<h3>Their iterations</h3><div id="iterations"></div></section>
<h2>Calls, and the computation before them</h2><div id="places"></div>
<div id="tip"></div>
)page";

// d3 binds data to elements; its scales differ from version to version and are not used.
const std::string_view page_script = R"page(
"use strict";
(function () {
const data = JSON.parse(document.getElementById("data").textContent);
const has_d3 = typeof d3 !== "undefined";
const colours = ["#0b6e4f", "#8a97a3", "#2b6cb0", "#7fc8a9", "#4a9a6f", "#c1440e", "#e0a030", "#d9d4c7"];
const chosen = { rank: -1, measure: "bytes", first: 0, last: data.ranks - 1 };
const el = id => document.getElementById(id);
const pct = (x, of, digits = 1) => (of > 0 ? 100 * x / of : 0).toFixed(digits) + " %";
const time = s => s >= 1 ? s.toFixed(3) + " s" : s >= 1e-3 ? (s * 1e3).toFixed(2) + " ms" : (s * 1e6).toFixed(2) + " µs";
const bytes = b => { const u = ["bytes", "KiB", "MiB", "GiB", "TiB"]; let i = 0; while (b >= 1024 && i < 4) { b /= 1024; ++i; } return (i ? b.toFixed(1) : b) + " " + u[i]; };
function node(name, text, cls) { const n = document.createElement(name); if (text !== undefined) n.textContent = text; if (cls) n.className = cls; return n; }
// What fits the window is drawn again when its width changes.
const wide = () => Math.max(280, document.body.clientWidth - 40), drawn = [];
function draw(f) { drawn.push(f); f(); }
let last_width = wide();
addEventListener("resize", () => { if (wide() !== last_width) { last_width = wide(); drawn.forEach(f => f()); } });
const shown_path = at => at.replaceAll(" <- ", " ← ");
function table(into, head, rows) {
  into.textContent = "";
  const t = node("table"), h = node("tr");
  head.forEach(c => h.append(node("th", c.replace(/^#/, ""), c[0] === "#" ? "n" : "")));
  t.append(h);
  rows.forEach(r => { const tr = node("tr"); r.forEach((c, i) => tr.append(node("td", c, head[i][0] === "#" ? "n" : ""))); t.append(tr); });
  into.append(t);
  if (!rows.length) into.append(node("p", "None.", "note"));
}
// The name of a row, which may be long, has a line of its own above it.
function named_table(into, head, rows, names) {
  table(into, head, rows);
  [...into.querySelectorAll("tr")].slice(1).forEach((row, i) => { const name = node("tr", undefined, "name"), cell = node("td", shown_path(names[i])); cell.colSpan = head.length; name.append(cell); row.before(name); });
}
function tip(text, event) {
  const t = el("tip");
  t.style.display = text ? "block" : "none";
  if (!text) return;
  t.textContent = text;
  t.style.left = Math.min(event.clientX + 14, innerWidth - t.offsetWidth - 8) + "px";
  t.style.top = (event.clientY + 14) + "px";
}
const event_of = (e) => e && e.clientX !== undefined ? e : (window.event || d3.event);

el("title").textContent = data.program.split("/").pop() + ": " + data.ranks + " ranks, " + time(data.seconds);
el("facts").textContent = [data.program, data.processes + (data.processes === 1 ? " process, " : " processes, ") + data.workers + (data.workers === 1 ? " worker" : " workers"), data.host, data.processor, data.settings,
  "exit status " + data.exit_status].filter(x => x).join(" · ")
  + (data.ranks_seen < data.ranks ? " · only " + data.ranks_seen + " ranks are seen" : "")
  + (data.ranks_ended < data.ranks_seen ? " · " + (data.ranks_seen - data.ranks_ended) + " ranks did not come to their end" : "");
data.advice.forEach(a => el("advice").append(node("li", a)));
data.shares.forEach((s, i) => { const n = node("span"), c = node("i"); c.style.background = colours[i]; n.append(c, s + " " + pct(data.share_seconds[i], data.rank_seconds)); el("legend").append(n); });

// --- Efficiency: each level is the product of those below it.
const e = data.efficiency;
const tree = [["parallel efficiency", e.parallel, 0], ["own work", e.own, 1], ["stolen work", e.stolen, 1], ["load balance", e.load_balance, 1],
  ["communication", e.communication, 1], ["serialisation", e.serialisation, 2], ["transfer", e.transfer, 2]];
if (has_d3) draw(() => {
  el("efficiency").textContent = "";
  const width = Math.min(720, wide()), long = width - 320;
  const svg = d3.select("#efficiency").append("svg").attr("width", width).attr("height", tree.length * 24);
  const g = svg.selectAll("g").data(tree).enter().append("g").attr("transform", (d, i) => "translate(0," + i * 24 + ")");
  g.append("text").attr("x", d => d[2] * 22).attr("y", 15).text(d => d[0]);
  g.append("rect").attr("x", 220).attr("y", 3).attr("height", 15).attr("width", long).attr("fill", "#ececE6");
  g.append("rect").attr("x", 220).attr("y", 3).attr("height", 15).attr("width", d => long * Math.max(0, Math.min(1, d[1])))
    .attr("fill", d => d[0] === "stolen work" || d[0] === "own work" ? "#7fc8a9" : d[1] >= .8 ? "#0b6e4f" : d[1] >= .6 ? "#e0a030" : "#c1440e");
  g.append("text").attr("x", width - 88).attr("y", 15).text(d => pct(d[1], 1));
}); else table(el("efficiency"), ["efficiency", "#value"], tree.map(t => ["  ".repeat(t[2]) + t[0], pct(t[1], 1)]));

// --- Ranks: a row each, or groups of neighbours when there are many.
const rows_max = 64;
function draw_ranks() {
  const ranks = data.by_rank.slice(chosen.first, chosen.last + 1);
  const per = Math.ceil(ranks.length / rows_max);
  const rows = [];
  for (let i = 0; i < ranks.length; i += per) {
    const of = ranks.slice(i, i + per), shares = data.shares.map((s, k) => of.reduce((a, r) => a + r.shares[k], 0));
    rows.push({ first: of[0].rank, last: of[of.length - 1].rank, shares: shares, seconds: of.reduce((a, r) => a + r.seconds, 0), last_call: of[0].last_call, ended: of[0].ended || !of[0].ran });
  }
  const name = r => r.first === r.last ? "" + r.first : r.first + "–" + r.last;
  el("ranks-note").textContent = per > 1 ? "Each bar is the mean of " + per + " neighbouring ranks; a click shows them one by one." : "A click on a rank shows its waits below.";
  if (chosen.first > 0 || chosen.last < data.ranks - 1) {
    const b = node("button", "all ranks"); b.onclick = () => { chosen.first = 0; chosen.last = data.ranks - 1; draw_ranks(); }; el("ranks-note").append(" ", b);
  }
  if (!has_d3) return table(el("ranks"), ["rank"].concat(data.shares.map(s => "#" + s)), rows.map(r => [name(r)].concat(r.shares.map(s => pct(s, r.seconds)))));
  el("ranks").textContent = "";
  const high = rows.length > 32 ? 11 : 19, left = 76, width = Math.min(900, wide() - left - 24);
  const svg = d3.select("#ranks").append("svg").attr("width", left + width + 24).attr("height", rows.length * (high + 2) + 24);
  const g = svg.selectAll("g").data(rows).enter().append("g").attr("class", "row").attr("transform", (d, i) => "translate(0," + i * (high + 2) + ")")
    .on("click", function (a, b) {
      const r = d3.select(this).datum();
      if (r.first !== r.last) { chosen.first = r.first; chosen.last = r.last; draw_ranks(); }
      else { chosen.rank = chosen.rank === r.first ? -1 : r.first; draw_waits(); draw_ranks(); }
    });
  g.append("text").attr("x", left - 8).attr("y", high - 3).attr("text-anchor", "end").style("font-size", high < 15 ? "10px" : "12px")
    .style("font-weight", d => d.first === d.last && d.first === chosen.rank ? "bold" : "normal").text(name);
  rows.forEach(r => { let x = 0; r.parts = r.shares.map((s, k) => { const w = r.seconds > 0 ? s / r.seconds * width : 0; x += w; return { k: k, x: x - w, w: w, r: r, s: s }; }); });
  g.selectAll("rect").data(d => d.parts).enter().append("rect").attr("x", d => left + d.x).attr("width", d => d.w).attr("height", high).attr("fill", d => colours[d.k])
    .on("mousemove", function (a) { const d = d3.select(this).datum(); tip("rank " + name(d.r) + "\n" + data.shares[d.k] + " " + pct(d.s, d.r.seconds) + " (" + time(d.s) + ")" + (d.r.ended ? "" : "\nlast in " + (d.r.last_call || "its own code")), event_of(a)); })
    .on("mouseout", () => tip(""));
  [0, 25, 50, 75, 100].forEach(p => svg.append("text").attr("x", left + width * p / 100).attr("y", rows.length * (high + 2) + 14).attr("text-anchor", "middle").text(p + " %"));
}

// --- Waits.
function draw_waits() {
  const mine = data.waits.filter(w => chosen.rank < 0 || w.cause === chosen.rank || w.waiters.indexOf(chosen.rank) >= 0);
  el("filter").textContent = chosen.rank < 0 ? "" : "Only those of rank " + chosen.rank + ", and those that it causes. ";
  if (chosen.rank >= 0) { const b = node("button", "all ranks"); b.onclick = () => { chosen.rank = -1; draw_waits(); draw_ranks(); }; el("filter").append(b); }
  const shown = mine.filter((w, i) => i < 8 || w.seconds > 0.0005 * data.rank_seconds).slice(0, 60);
  const few = l => l.slice(0, 6).join(", ") + (l.length > 6 ? " and " + (l.length - 6) + " others" : "");
  named_table(el("waits"), ["kind", "#share of time", "#total", "#times", "#longest", "ranks that wait"],
    shown.map(w => [w.state, pct(w.seconds, data.rank_seconds), time(w.seconds), "" + w.count, time(w.longest), few(w.waiters)]),
    shown.map(w => w.at + (w.cause < 0 ? "" : ", for rank " + w.cause + (w.cause_at ? ", which comes to " + w.cause_at : ""))));
  if (shown.length < mine.length) el("waits").append(node("p", (mine.length - shown.length) + " shorter ones are in the data.", "note"));
}

// --- Matrix.
function draw_matrix() {
  const choice = el("matrix-choice");
  choice.textContent = "";
  ["bytes", "messages", "waiting"].forEach(m => { const b = node("button", m === "waiting" ? "waiting for" : m + " sent to"); b.disabled = m === chosen.measure; b.onclick = () => { chosen.measure = m; draw_matrix(); }; choice.append(b); });
  const into = el("matrix"), column = { messages: 2, bytes: 3, waiting: 4 }[chosen.measure];
  into.textContent = "";
  if (!data.exchanges.length) return into.append(node("p", "No messages.", "note"));
  const cells = Math.min(data.ranks, 128), per = data.ranks / cells, size = Math.max(3, Math.min(28, Math.floor(560 / cells)));
  const sum = new Float64Array(cells * cells);
  data.exchanges.forEach(x => { sum[Math.floor(x[0] / per) * cells + Math.floor(x[1] / per)] += x[column]; });
  const most = sum.reduce((a, b) => Math.max(a, b), 0);
  const canvas = node("canvas"); canvas.width = canvas.height = cells * size;
  const draw = canvas.getContext("2d");
  draw.fillStyle = "#fff"; draw.fillRect(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < sum.length; ++i) {
    if (!sum[i]) continue;
    draw.fillStyle = "rgba(" + (chosen.measure === "waiting" ? "193,68,14," : "11,110,79,") + (0.12 + 0.88 * sum[i] / most) + ")";
    draw.fillRect(i % cells * size, Math.floor(i / cells) * size, size - (size > 6 ? 1 : 0), size - (size > 6 ? 1 : 0));
  }
  const range = i => per === 1 ? "" + i : Math.ceil(i * per) + "–" + (Math.ceil((i + 1) * per) - 1);
  canvas.onmousemove = ev => {
    const r = canvas.getBoundingClientRect(), to = Math.floor((ev.clientX - r.left) / size), from = Math.floor((ev.clientY - r.top) / size);
    if (to < 0 || from < 0 || to >= cells || from >= cells) return tip("");
    const v = sum[from * cells + to];
    tip("rank " + range(from) + (chosen.measure === "waiting" ? " waits for " : " to ") + range(to) + ": " + (chosen.measure === "bytes" ? bytes(v) : chosen.measure === "waiting" ? time(v) : v), ev);
  };
  canvas.onmouseout = () => tip("");
  into.append(canvas, node("p", "Rows: the rank that " + (chosen.measure === "waiting" ? "waits" : "sends") + "; columns: its partner. The darkest cell has " + (chosen.measure === "bytes" ? bytes(most) : chosen.measure === "waiting" ? time(most) : most) + ".", "note"));
}

// --- Sizes.
function draw_sizes() {
  el("sizes").textContent = "";
  const m = data.messages, s = m.sizes, last = s.reduce((a, c, i) => c[0] ? i : a, -1);
  el("sizes").append(node("p", m.sent + " messages, " + bytes(m.bytes) + " in all; " + m.unexpected + " came before their receive, " + m.rendezvous + " by rendezvous; " + m.collectives + " calls of collectives.", "note"));
  if (last < 0) return;
  const label = i => i === 0 ? "0" : bytes(Math.pow(2, i - 1));
  if (!has_d3) { const t = node("div"); el("sizes").append(t); return table(t, ["from", "#messages", "#bytes"], s.slice(0, last + 1).map((c, i) => [label(i), "" + c[0], bytes(c[1])])); }
  const shown = s.slice(0, last + 1), most = Math.max.apply(null, shown.map(c => c[0])), step = Math.min(60, (wide() - 70) / shown.length);
  const svg = d3.select("#sizes").append("svg").attr("width", Math.min(1000, wide())).attr("height", 190);
  const g = svg.selectAll("g").data(shown).enter().append("g").attr("transform", (d, i) => "translate(" + (20 + i * step) + ",0)");
  g.append("rect").attr("y", d => 140 - 120 * d[0] / most).attr("height", d => 120 * d[0] / most).attr("width", step - 3).attr("fill", "#2b6cb0");
  g.append("text").attr("x", step / 2).attr("y", d => 135 - 120 * d[0] / most).attr("text-anchor", "middle").text(d => d[0] ? d[0] : "");
  g.append("text").attr("transform", "translate(" + step / 2 + ",152) rotate(30)").style("font-size", "10px").text((d, i) => label(i));
}

// --- What if.
function draw_what_if() {
  const T = data.seconds, W = Math.max(data.cores || data.workers, 1), options = [];
  const mean = data.efficiency.parallel * T, most = data.efficiency.communication * T;
  options.push({ name: "transfer of messages", part: Math.max(0, T - data.efficiency.ideal_seconds), by: 0 });
  options.push({ name: "waiting in chains of ranks", part: Math.max(0, data.efficiency.ideal_seconds - most), by: 0 });
  options.push({ name: "uneven shares of work", part: Math.max(0, most - mean), by: 0 });
  options.forEach(o => { o.gain = p => o.part * p / 100; });
  const replayed = data.run ? data.run.what_if : [];
  // Between two reductions that were replayed, a straight line.
  const between = gains => p => {
    let x = 0, y = 0;
    for (const g of gains) { if (p <= g[0]) return (y + (g[1] - y) * (p - x) / (g[0] - x)) / 100 * T; x = g[0]; y = g[1]; }
    return y / 100 * T;
  };
  if (replayed.length) {
    options.length = 0;
    replayed.filter(w => w.gains[w.gains.length - 1][1] >= 0.05).forEach(w => options.push({ name: w.part, by: 0, gain: between(w.gains) }));
    el("what-if-note").textContent = "How much shorter the run becomes when a part of it shrinks, by replays of its events: what overlaps with other work brings nothing. Of several parts the gains are added, which is too much where they overlap.";
  } else data.places.filter(p => p.slowest_seconds > 0.01 * T).slice(0, 5).forEach(p => { const part = Math.min(p.slowest_seconds, T); options.push({ name: "computation before " + p.at, by: 0, gain: q => part * q / 100 }); });
  const box = el("sliders");
  function sum() {
    const gain = options.reduce((a, o) => a + o.gain(o.by), 0), left = Math.max(T - gain, T * 0.01);
    el("what-if-sum").textContent = gain > 0 ? "The run would take " + time(left) + " instead of " + time(T) + (replayed.length ? ": " : ", at best: ") + (T / left).toFixed(2) + " times as fast." : "Move a slider.";
    draw_curves();
  }
  options.forEach(o => {
    const l = node("label", undefined, "slider"), s = node("input"), v = node("span", "0 %");
    s.type = "range"; s.min = 0; s.max = 90; s.step = 5; s.value = 0;
    s.oninput = () => { o.by = +s.value; v.textContent = "−" + s.value + " %"; sum(); };
    l.append(node("span", shown_path(o.name)), s, v); box.append(l);
  });
  function draw_curves() {
    const into = el("curves"); into.textContent = "";
    if (!has_d3) return table(into, ["part", "#at −50 %"], options.map(o => [shown_path(o.name), pct(o.gain(50), T)]));
    const top = Math.max(0.05, Math.max.apply(null, options.map(o => o.gain(90) / T)));
    const width = Math.min(620, wide()), svg = d3.select(into).append("svg").attr("width", width).attr("height", 250), x = p => 50 + p * (width - 70) / 100, y = v => 220 - 200 * v / top;
    [0, .25, .5, .75, 1].forEach(f => { svg.append("line").attr("class", "axis").attr("x1", 50).attr("x2", x(90)).attr("y1", y(f * top)).attr("y2", y(f * top)); svg.append("text").attr("x", 44).attr("y", y(f * top) + 4).attr("text-anchor", "end").text((100 * f * top).toFixed(0) + " %"); });
    [10, 30, 50, 70, 90].forEach(p => svg.append("text").attr("x", x(p)).attr("y", 240).attr("text-anchor", "middle").text("−" + p + " %"));
    const line = ["#0b6e4f", "#c1440e", "#2b6cb0", "#e0a030", "#5b5f97", "#9c4a97", "#8a97a3", "#7fc8a9"];
    const g = svg.selectAll("g").data(options).enter().append("g");
    g.append("polyline").attr("points", d => [0, 10, 30, 50, 70, 90].map(p => x(p) + "," + y(d.gain(p) / T)).join(" ")).attr("fill", "none").attr("stroke-width", 2).attr("stroke", (d, i) => line[i % 8]);
    g.append("circle").attr("class", "at").attr("cx", d => x(d.by)).attr("cy", d => y(d.gain(d.by) / T)).attr("r", 5).attr("fill", (d, i) => line[i % 8]);
    const names = node("div", undefined, "legend");
    options.forEach((o, i) => { const n = node("div"), c = node("i"); c.style.background = line[i % 8]; n.append(c, shown_path(o.name)); names.append(n); });
    into.append(names);
  }
  sum(); drawn.push(draw_curves);
}

// --- A message that has been measured.
function draw_message() {
  const from = el("message-data"), into = el("message");
  if (!from) return;
  const m = JSON.parse(from.textContent), sums = [["injection overhead", m.injection], ["latency", m.latency]], by = {};
  const ns = x => x.toFixed(x < 100 ? 1 : 0) + " ns";
  into.append(node("h2", "A message of " + m.bytes + " bytes: " + m.face + (m.transport ? " over " + m.transport : "")),
    node("p", "Each part is measured alone, " + m.rounds + " runs; a pair of time stamps takes " + ns(m.overhead.ns) + ", which is subtracted. A slider makes a part shorter. Parts that overlap make misc negative, which is in the sums and not drawn.", "note"));
  const plot = node("div"), sliders = node("div"), now = node("p"), parts = node("div");
  into.append(plot, now, sliders, parts);
  const names = [];
  sums.forEach(s => s[1].parts.forEach(p => { if (names.indexOf(p.name) < 0) names.push(p.name); }));
  const colour = n => ["#0b6e4f", "#2b6cb0", "#e0a030", "#c1440e", "#5b5f97", "#7fc8a9", "#8a97a3", "#9c4a97", "#7fb0e0", "#d9a0a0", "#b0b060"][names.indexOf(n) % 11];
  const left = p => p.ns * (1 - (by[p.name] || 0) / 100);
  // Misc makes the sum that of the whole, which has been measured; only the stages alone are a prediction.
  function off(sum) {
    const per_cent = of => { const e = sum.observed.ns > 0 ? 100 * (of - sum.observed.ns) / sum.observed.ns : 0; return (e >= 0 ? "+" : "") + e.toFixed(1) + " %"; };
    const stages = sum.parts.filter(p => p.level !== "misc");
    return "stages " + per_cent(stages.reduce((a, p) => a + p.ns, 0)) + (stages.length < sum.parts.length ? ", with misc " + per_cent(sum.modelled) : "");
  }
  function draw_sums() {
    plot.textContent = "";
    now.textContent = sums.map(s => s[0] + ": " + ns(s[1].parts.reduce((a, p) => a + left(p), 0)) + " of a modelled " + ns(s[1].modelled) + ", observed " + ns(s[1].observed.ns) + " (" + off(s[1]) + ")").join("; ");
    if (!has_d3) return;
    const svg = d3.select(plot).append("svg").attr("width", Math.min(1010, wide())).attr("height", 96);
    sums.forEach((s, row) => {
      const whole = s[1].parts.reduce((a, p) => a + Math.max(0, p.ns), 0);
      let x = 150;
      svg.append("text").attr("x", 142).attr("y", 26 + row * 44).attr("text-anchor", "end").text(s[0]);
      s[1].parts.forEach(p => {
        const w = whole > 0 ? (Math.min(1010, wide()) - 160) * Math.max(0, left(p)) / whole : 0;
        svg.append("rect").attr("class", "part").attr("x", x).attr("y", 8 + row * 44).attr("width", w).attr("height", 28).attr("fill", colour(p.name))
          .on("mousemove", a => tip(p.name + ": " + ns(p.ns) + "\n" + p.meaning + "\nmedian " + ns(p.quantiles[10]) + ", 90 % below " + ns(p.quantiles[18]) + ", deviation " + ns(p.deviation), event_of(a))).on("mouseout", () => tip(""));
        if (w > 52) svg.append("text").attr("x", x + w / 2).attr("y", 26 + row * 44).attr("text-anchor", "middle").style("fill", "#fff").text(p.name);
        x += w;
      });
    });
  }
  names.forEach(n => {
    const l = node("label", undefined, "slider"), s = node("input"), v = node("span", "0 %");
    s.type = "range"; s.min = 0; s.max = 90; s.step = 5; s.value = 0;
    s.oninput = () => { by[n] = +s.value; v.textContent = "−" + s.value + " %"; draw_sums(); };
    l.append(node("span", n), s, v); sliders.append(l);
  });
  const rows = [];
  sums.forEach(s => s[1].parts.forEach(p => rows.push([s[0], p.name, p.level, ns(p.ns), ns(p.deviation), ns(p.quantiles[10]), ns(p.quantiles[18]), "" + p.samples, p.meaning])));
  table(parts, ["sum", "part", "level", "#mean", "#deviation", "#median", "#90 %", "#samples", "what it is"], rows);
  draw(draw_sums);
}

if (!data.messages.sent) chosen.measure = "waiting";
draw(draw_ranks); draw_waits(); draw_matrix(); draw(draw_sizes); draw_what_if(); draw_message();
// --- The run again: what a replay of its events says.
function bars(into, rows, whole, columns, colour) {
  const sum = r => r.values.reduce((a, b) => a + b, 0), most = Math.max.apply(null, rows.map(sum).concat([1e-12]));
  rows.forEach(r => {
    const line = node("div", undefined, "bar"), bar = node("span");
    r.values.forEach((v, k) => { const part = node("i"); part.style.cssText = "width:" + 100 * v / most + "%;background:" + colour[k]; part.title = columns[k] + " " + pct(v, whole); bar.append(part); });
    line.append(node("b", pct(sum(r), whole)), bar, node("span", shown_path(r.at)));
    into.append(line);
  });
}
function draw_run() {
  const r = data.run;
  if (!r) return;
  el("of-run").hidden = false;
  el("run-note").textContent = "From the events of " + (r.missing_events ? "the last " : "the whole run, ") + time(r.recorded_seconds)
    + (r.missing_events ? ": those before were not kept." : ".") + " A replay of them as they were takes " + time(r.replayed_seconds) + ".";
  const some = l => l.slice(0, 14), path = some(r.critical_path).filter(c => c.seconds > 0.0005 * r.recorded_seconds);
  bars(el("path"), path.map(c => ({ at: c.at, values: [c.seconds] })), r.recorded_seconds, ["share of the run"], ["#2b6cb0"]);
  const all = r.delays.reduce((a, c) => a + c.seconds + c.indirect, 0);
  if (r.delays.length) bars(el("delays"), some(r.delays).filter(c => c.seconds + c.indirect > 0.0005 * all).map(c => ({ at: c.at, values: [c.seconds, c.indirect] })), all, ["directly", "by way of others"], ["#c1440e", "#e9b08f"]);
  else el("delays").append(node("p", "None.", "note"));
  table(el("tolerance"), ["#until the run takes longer by", "#each message may take longer by"], r.tolerance.map(t => [(100 * t[0]).toFixed(0) + " %", t[1] === null ? "any time" : time(t[1])]));
}
draw_run();
const share_of = value => (100 * value).toFixed(1) + " %";
const region_columns = ["#time", "#efficiency", "#load balance", "#serialisation", "#transfer", "#stolen work", "#waiting"];
const region_row = r => [time(r.seconds), share_of(r.parallel), share_of(r.load_balance), share_of(r.serialisation), share_of(r.transfer), share_of(r.stolen), share_of(r.waiting)];
if ((data.regions || []).length) {
  el("of-regions").hidden = false;
  table(el("regions"), ["region", "#times", "#ranks"].concat(region_columns), data.regions.map(r => [r.name, "" + r.entries, "" + r.ranks].concat(region_row(r))));
  table(el("iterations"), ["region", "#iteration", "#ranks"].concat(region_columns), data.iterations.slice(0, 256).map(r => [r.name, "" + r.iteration, "" + r.ranks].concat(region_row(r))));
}
const in_call = p => p.in_calls > 0 ? [time(p.least), time(p.mean), time(p.most)] : ["", "", ""];
const takes_along = p => !p.messages ? "" : p.messages + " of " + bytes(p.least_bytes) + (p.least_bytes < p.most_bytes ? " to " + bytes(p.most_bytes) + ", mean " + bytes(Math.round(p.mean_bytes)) : "");
const call_head = ["#calls", "#computing before", "#in calls", "#least", "#mean", "#most", "messages", "#ranks", "most computing"], shown_places = data.places.slice(0, 60);
named_table(el("places"), call_head, shown_places.map(p => ["" + p.calls, time(p.computing), time(p.in_calls)].concat(in_call(p), [takes_along(p), "" + p.ranks, p.slowest < 0 ? "" : "rank " + p.slowest + ": " + time(p.slowest_seconds)])), shown_places.map(p => p.at));
document.body.setAttribute("data-ready", "1");
})();
)page";

}  // namespace weft::breakdown
