"""The style sheet and the script of a report; both are written into its one file."""

from __future__ import annotations

__all__ = ["SCRIPT", "STYLE"]


STYLE = """
:root { color-scheme: light dark; --ink: #1b2733; --faint: #55616c; --line: #d8dee4; --back: #ffffff;
  --band: #f4f6f8; --bar: #2a6f97; --present: #b3261e; --absent: #6b747d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --faint: #a5b0bb; --line: #3a4652; --back: #12181e;
  --band: #1b232b; --bar: #6fb1d6; --present: #ff8a80; --absent: #8f9aa5; } }
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.25rem 4rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .4rem; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .3rem; }
p, ul { margin: .4rem 0; max-width: 48rem; }
.lead { font-size: 1.08rem; }
a { color: var(--bar); }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .6rem 0; }
nav a { display: inline-block; padding: .35rem 0; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--back); padding: .5rem; }
:focus-visible { outline: 3px solid var(--bar); outline-offset: 2px; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem; margin: 1rem 0; }
.facts div { background: var(--band); border-radius: .5rem; padding: .6rem .8rem; }
.facts dt, .list dt { color: var(--faint); font-size: .85rem; }
.facts dd { margin: 0; font-size: 1.25rem; font-weight: 600; }
.list { margin: .6rem 0; display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .3rem 1.2rem; }
.list div { display: contents; }
.list dd { margin: 0; }
.note { color: var(--faint); font-size: .92rem; }
.scroll { overflow-x: auto; margin: .6rem 0; border: 1px solid var(--line); border-radius: .5rem; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
caption { text-align: left; padding: .45rem .7rem; color: var(--faint); font-size: .88rem; }
th, td { text-align: left; padding: .4rem .7rem; border-top: 1px solid var(--line); vertical-align: top;
  overflow-wrap: break-word; }
tbody th { font-weight: 400; min-width: 8.5rem; overflow-wrap: anywhere; }
thead th { background: var(--band); padding: 0; vertical-align: bottom; }
thead button { all: unset; cursor: pointer; display: block; padding: .5rem .7rem; font-weight: 600; width: 100%;
  box-sizing: border-box; }
thead button:focus-visible { outline: 3px solid var(--bar); outline-offset: -3px; }
thead button::after { content: " \\2195"; color: var(--faint); }
th[aria-sort="ascending"] button::after { content: " \\2191"; color: inherit; }
th[aria-sort="descending"] button::after { content: " \\2193"; color: inherit; }
td.number { font-variant-numeric: tabular-nums; text-align: right; min-width: 7rem; }
thead th.number button { text-align: right; }
td.words { min-width: 18rem; width: 46%; overflow-wrap: anywhere; }
td.bars { min-width: 5rem; width: 22%; }
td > code { font: inherit; }
summary { cursor: pointer; }
details.exact code { display: block; max-width: 20rem; margin-left: auto; font-size: .85em;
  overflow-wrap: anywhere; }
details.exact summary { white-space: nowrap; }
details.exact summary::marker { color: var(--faint); font-size: .8em; }
svg.bar, svg.strip { display: block; width: 100%; height: 1.1rem; }
svg.bar { height: .55rem; margin-top: .15rem; }
svg.bar rect { fill: var(--bar); }
svg.strip { background: var(--band); }
svg.strip path { fill: var(--bar); }
.forest { display: flex; flex-wrap: wrap; gap: .8rem; margin: .6rem 0; }
.forest figure { margin: 0; padding: .5rem; border: 1px solid var(--line); border-radius: .5rem; max-width: 100%; }
.forest figcaption { font-size: .88rem; text-align: center; }
.forest svg { display: block; max-width: 100%; height: auto; }
.forest text { font-size: 12px; fill: var(--ink); text-anchor: middle; dominant-baseline: central; }
.forest rect { fill: var(--back); stroke: var(--ink); }
.forest line { stroke: var(--present); stroke-width: 2; }
.forest line.absent { stroke: var(--absent); stroke-width: 1.5; stroke-dasharray: 5 4; }
.instance { border: 1px solid var(--line); border-radius: .5rem; padding: .4rem .9rem; margin: .6rem 0; }
.instance > summary { font-weight: 600; padding: .3rem 0; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .8rem; }
@media (max-width: 40rem) { body { padding: .6rem .8rem 3rem; } h1 { font-size: 1.4rem; }
  .facts { grid-template-columns: 1fr 1fr; } .facts dd { font-size: 1.05rem; } .list { display: block; }
  .list div { display: block; margin: .4rem 0; } .instance { padding: .3rem .6rem; }
  table, caption, tbody, tr, th, td { display: block; } thead { display: block; background: var(--band); }
  thead tr { display: flex; flex-wrap: wrap; } thead th { border: 0; } thead button { padding: .5rem .6rem; }
  tbody tr { border-top: 1px solid var(--line); padding: .5rem .6rem; }
  tbody th, tbody td, td.number, td.words, td.bars { border: 0; padding: .1rem 0; min-width: 0; width: auto;
    text-align: left; }
  tbody th { font-weight: 600; }
  tbody td::before { content: attr(data-label) ": "; color: var(--faint); }
  td details.exact { display: inline-block; vertical-align: top; max-width: 100%; }
  details.exact code { margin: 0; max-width: none; } }
@media print { :root { color-scheme: light; --ink: #000000; --faint: #444444; --line: #bbbbbb; --back: #ffffff;
  --band: #f4f6f8; --bar: #2a6f97; --present: #b3261e; --absent: #6b747d; }
  body { max-width: none; font-size: 10.5pt; padding: 0; } nav, .skip { display: none; } .scroll { overflow: visible; }
  thead { display: table-header-group; } thead button { padding: .3rem .4rem; } thead button::after { content: ""; }
  th, td { padding: .25rem .4rem; } tr, figure { break-inside: avoid; } h2, h3, caption { break-after: avoid; }
  td.number { min-width: 5rem; } td.words { min-width: 0; } tbody th { min-width: 6rem; }
  svg rect, svg path, svg.strip { print-color-adjust: exact; } }
"""

SCRIPT = """
"use strict";
function keyOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.key === undefined ? cell.textContent.trim() : Number(cell.dataset.key);
}
function order(a, b) {
  if (typeof a === "number" && typeof b === "number") { return a - b; }
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}
function sortBy(button) {
  const head = button.closest("th");
  const body = head.closest("table").tBodies[0];
  const first = head.dataset.first;
  const now = head.getAttribute("aria-sort");
  const next = now === "none" ? first : (now === "ascending" ? "descending" : "ascending");
  for (const other of head.parentElement.cells) { other.setAttribute("aria-sort", "none"); }
  head.setAttribute("aria-sort", next);
  const sign = next === "ascending" ? 1 : -1;
  const rows = Array.from(body.rows, (row) => [keyOf(row, head.cellIndex), row]);
  rows.sort((a, b) => sign * order(a[0], b[0]));
  for (const pair of rows) { body.append(pair[1]); }
}
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => sortBy(button));
}
function unfold(id) {
  const target = id && document.getElementById(id);
  if (target && target.tagName === "DETAILS") { target.open = true; target.scrollIntoView(); }
}
window.addEventListener("hashchange", () => unfold(location.hash.slice(1)));
unfold(location.hash.slice(1));
window.addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details.instance")) { part.open = true; }
});
"""
