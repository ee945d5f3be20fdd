"""The script of the page on which one asks: it restricts CXps and adds up closed forms, in integers of any length.

Freezing features leaves the CXps without them, with their weights; allowing fewer changes leaves the smaller ones. So
what was computed once answers every question of both kinds exactly. AXps are minimal hitting sets, one CXp at a time.
"""

from __future__ import annotations

__all__ = ["EXPLORE_SCRIPT", "EXPLORE_STYLE"]


EXPLORE_STYLE = """
.asked { background: var(--band); border-radius: .5rem; padding: .8rem 1rem; margin: .8rem 0; display: grid;
  grid-template-columns: minmax(0, 1fr); gap: .8rem; }
.asked label, .asked legend { font-weight: 600; }
.asked select { font: inherit; max-width: 100%; padding: .3rem; color: var(--ink); background: var(--back);
  border: 1px solid var(--faint); border-radius: .3rem; }
.asked input[type=range] { width: 100%; max-width: 30rem; display: block; margin: .4rem 0; accent-color: var(--bar); }
.asked fieldset { border: 0; padding: 0; margin: 0; min-width: 0; }
.asked .choices { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .2rem .8rem; }
.asked .choices label { font-weight: 400; display: flex; gap: .5rem; align-items: baseline; min-width: 0; }
.asked .choices span { min-width: 0; overflow-wrap: anywhere; }
.asked input[type=checkbox] { accent-color: var(--bar); flex: none; }
.asked button { font: inherit; padding: .3rem .8rem; color: var(--ink); background: var(--back);
  border: 1px solid var(--faint); border-radius: .3rem; cursor: pointer; margin-top: .4rem; }
[hidden] { display: none !important; }
"""

EXPLORE_SCRIPT = r"""
const page = JSON.parse(document.getElementById("answers").textContent);
const LONGEST_TABLE = 500, MOST_AXPS = 2000, MOST_LOOKS = 1000000;
const byId = (id) => document.getElementById(id);
const frozen = new Set();

function gcd(a, b) { while (b) { [a, b] = [b, a % b]; } return a; }
function lcm(a, b) { return a / gcd(a, b) * b; }
function fraction(text) {
  const [above, below] = text.split("/");
  return [BigInt(above), BigInt(below === undefined ? "1" : below)];
}
function exactText(above, below) {
  const by = gcd(above, below);
  return below === by ? String(above / by) : `${above / by}/${below / by}`;
}
const RAISED = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";
function raised(power) { return String(power).replace("-", "\u207b").replace(/[0-9]/g, (c) => RAISED[c]); }
function grouped(whole) { return String(whole).replace(/\B(?=(\d{3})+$)/g, ","); }
// To four digits, as the report writes numbers; of two equally near the even one, as Python does.
function readable(above, below) {
  if (above % below === 0n) {
    const whole = String(above / below);
    return whole.length <= 12 ? grouped(whole) : `about 10${raised(whole.length - 1)}`;
  }
  let power = String(above).length - String(below).length;
  if (power >= 0 ? above < below * 10n ** BigInt(power) : above * 10n ** BigInt(-power) < below) { power -= 1; }
  if (power < -323) { return `about 10${raised(power)}`; }
  if (power >= 4) { return String(rounded(above, below)); }
  let digits = rounded(above * 10n ** BigInt(3 - power), below);
  if (digits === 10000n) { digits = 1000n; power += 1; }
  const short = String(digits).replace(/0+$/, "");
  if (power < -6) { return `${short[0]}${short.length > 1 ? "." + short.slice(1) : ""} \u00d7 10${raised(power)}`; }
  if (power < 0) { return "0." + "0".repeat(-power - 1) + short; }
  const [before, after] = [short.slice(0, power + 1).padEnd(power + 1, "0"), short.slice(power + 1)];
  return after ? `${before}.${after}` : before;
}
function rounded(above, below) {
  const whole = above / below, twice = 2n * (above % below);
  return twice > below || (twice === below && whole % 2n === 1n) ? whole + 1n : whole;
}
function nearly(above, below) { return Number(above * 2n ** 60n / below) / 2 ** 60; }
function percent(above, below) {
  if (above === 0n || above === below) { return above === 0n ? "0%" : "100%"; }
  if (above * 2000n < below) { return "< 0.1%"; }
  const tenths = String(rounded(above * 1000n, below)).padStart(2, "0");
  return `${tenths.slice(0, -1)}.${tenths.slice(-1)}%`;
}
function counted(number, noun) { return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`; }

// The CXps of a row at a distance, with whole weights over one denominator; made when the row is first looked at.
function prepared(step) {
  if (step.sets === undefined) {
    step.whole = BigInt(step.denominator);
    step.sets = step.cxps.map(([features, weight, words]) => {
      const [above, below] = fraction(weight);
      return { features, weight: above * (step.whole / below), words, size: features.length };
    });
  }
  return step;
}
function remaining(step, size, without) {
  return prepared(step).sets.filter((set) => set.size <= size && !set.features.some((f) => without.has(f)));
}
// Each score is a sum of shares of weights, divided by the number of CXps: all over one denominator.
function scored(step, sets, shares) {
  const parts = shares.map(fraction);
  const common = parts.reduce((sum, part) => lcm(sum, part[1]), 1n);
  const sums = new Map();
  for (const set of sets) {
    const [above, below] = parts[set.size - 1];
    const share = set.weight * above * (common / below);
    for (const f of set.features) { sums.set(f, (sums.get(f) || 0n) + share); }
  }
  return { sums, denominator: step.whole * common * BigInt(Math.max(sets.length, 1)) };
}
// One CXp after the other: sets that meet it stay; others are extended by each of its features, where that is minimal.
function hittingSets(sets) {
  let found = [0n], looks = 0;
  for (const set of sets) {
    const bits = set.features.map((f) => 1n << BigInt(f));
    const all = bits.reduce((sum, bit) => sum | bit, 0n);
    const meeting = found.filter((one) => one & all), more = [];
    for (const one of found) {
      if (one & all) { continue; }
      for (const bit of bits) {
        const larger = one | bit;
        looks += meeting.length;
        if (looks > MOST_LOOKS) { return null; }
        if (!meeting.some((other) => (other & larger) === other)) { more.push(larger); }
      }
    }
    found = meeting.concat(more);
    if (found.length > MOST_AXPS) { return null; }
  }
  const listed = found.map((mask) => page.features.map((_, f) => f).filter((f) => mask >> BigInt(f) & 1n));
  return listed.sort((a, b) => a.length - b.length || earlier(a, b));
}
function earlier(a, b) {
  const k = a.findIndex((f, place) => f !== b[place]);
  return k === -1 ? 0 : a[k] - b[k];
}

function make(tag, attributes, ...content) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) { made.setAttribute(key, value); }
  made.append(...content);
  return made;
}
function nameOf(text) { return make("bdi", {}, text); }
function namesOf(features) {
  return features.flatMap((f, k) => (k ? [", ", nameOf(page.features[f])] : [nameOf(page.features[f])]));
}
function numberOf(above, below) {
  const exact = exactText(above, below), code = make("code", {}, exact);
  if (!exact.includes("/")) { return code; }
  const short = make("summary", { title: "show the exact number" }, readable(above, below));
  return make("details", { class: "exact" }, short, code);
}
function barOf(share) {
  if (!share) { return ""; }
  const bar = byId("bar").firstElementChild.cloneNode(true);
  bar.firstElementChild.setAttribute("width", 100 * share);
  return bar;
}
function cellOf([content, key, kind], place, title) {
  const attributes = place === 0 ? { scope: "row", role: "rowheader" } : { role: "cell", "data-label": title };
  if (key !== null) { attributes["data-key"] = key; }
  if (kind) { attributes.class = kind; }
  return make(place === 0 ? "th" : "td", attributes, ...content);
}
// Only the lines that are shown are made: there may be many thousands.
function fill(id, items, lineOf, sortedBy) {
  const table = document.querySelector(`#${id} table`);
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, k) => head.setAttribute("aria-sort", k === sortedBy ? "descending" : "none"));
  const rows = items.slice(0, LONGEST_TABLE).map((item) =>
    make("tr", { role: "row" }, ...lineOf(item).map((cell, k) => cellOf(cell, k, heads[k].textContent))));
  table.tBodies[0].replaceChildren(...rows);
  const left = items.length - LONGEST_TABLE;
  byId(`${id}-more`).textContent = left > 0 ? `${grouped(left)} more, not listed.` : "";
  document.querySelector(`#${id} .scroll`).hidden = items.length === 0;
}

function asked() {
  const row = page.rows[Number(byId("row").value)];
  const step = row.steps[row.steps.length > 1 ? Number(byId("distance").value) : 0];
  return { row, step, size: Number(byId("size").value), kind: page.kinds[Number(byId("kind").value)] };
}
function answer() {
  const { row, step, size, kind } = asked();
  const sets = remaining(step, size, frozen), { sums, denominator } = scored(step, sets, kind.shares);
  const axps = hittingSets(sets);
  return { row, step, size, kind, sets, sums, denominator, axps };
}
function show() {
  const found = answer();
  showQuestion(found);
  showScores(found);
  showCxps(found);
  showAxps(found);
}
function isLimited(size, step) { return size < step.reach || !step.complete; }
function changeWords(size, step) {
  return isLimited(size, step) ? `at most ${counted(size, "feature")}` : "any number of features";
}
function showQuestion({ row, step, size, sets, sums, axps }) {
  const change = changeWords(size, step);
  byId("size-words").textContent = change;
  byId("size").setAttribute("aria-valuetext", change);
  byId("distance-words").textContent = step.distance;
  byId("distance").setAttribute("aria-valuetext", step.distance);
  byId("row-note").textContent = row.note;
  const kept = Array.from(frozen, (f) => page.features[f]);
  const held = kept.length ? `, with ${kept.join(", ")} frozen` : "";
  const near = step.distance ? `, ${step.distance}` : "";
  const many = axps === null ? "too many AXps to list here" : counted(axps.length, "AXp");
  const told = sets.length
    ? `${counted(sets.length, "CXp")} of ${counted(sums.size, "feature")}, ${many}.`
    : `nothing ${page.does}; there is no CXp.`;
  const output = make("strong", {}, nameOf(row.output));
  if (!step.reach && !step.complete) {
    byId("answer").replaceChildren("The model gives ", output, ". The CXps of this row are not on this page.");
    return;
  }
  const question = nameOf(`Changing ${change}${held}${near}`);
  byId("answer").replaceChildren("The model gives ", output, ". ", question, `: ${told}`);
}
function showScores({ row, sums, denominator, kind }) {
  const whole = Array.from(sums.values()).reduce((sum, one) => sum + one, 0n);
  const ranked = Array.from(sums).sort((a, b) => (a[1] === b[1] ? a[0] - b[0] : (a[1] > b[1] ? -1 : 1)));
  const most = ranked.length ? ranked[0][1] : 0n;
  fill("scored", ranked, ([f, sum]) => [
    [[nameOf(page.features[f])], null],
    [[nameOf(row.values[f])], null],
    shareCell(sum, whole, most),
    [[numberOf(sum, denominator)], nearly(sum, denominator), "number"],
  ], 2);
  byId("scores-kind").textContent = kind.about;
}
function shareCell(sum, whole, most) {
  if (!whole) { return [["0%"], 0, "number"]; }
  return [[percent(sum, whole), barOf(nearly(sum, most))], nearly(sum, whole), "number"];
}
function showCxps({ row, step, sets }) {
  const heavy = sets.slice().sort((a, b) => (a.weight === b.weight ? 0 : (a.weight > b.weight ? -1 : 1)));
  const most = heavy.length ? heavy[0].weight : 0n;
  fill("cxps", heavy, (set) => [
    [namesOf(set.features), null],
    [[nameOf(set.words || plainWords(row, set.features))], null, "words"],
    weightCell(set.weight, step.whole, most),
    [[String(set.size)], set.size, "number"],
  ], 2);
}
function weightCell(weight, whole, most) {
  const bar = barOf(most ? nearly(weight, most) : 0);
  return [[numberOf(weight, whole), bar], nearly(weight, whole), "number"];
}
function plainWords(row, features) {
  return `Change ${features.map((f) => `${page.features[f]} (now ${row.values[f]})`).join(" and ")}; keep all else.`;
}
const TOO_MANY = "There are more AXps than a page can search through; freeze features, allow fewer changes, or ask "
  + "the library.";
function showAxps({ sets, axps, size, step }) {
  const others = isLimited(size, step) ? `at most ${size} of the others do` : "the others do";
  const also = frozen.size ? " together with the frozen ones" : "";
  const does = `${page.keeps} whatever ${others}`;
  const words = `Each AXp is a smallest set of features that, kept as they are${also}, ${does}.`;
  byId("axps-words").textContent = axps === null ? TOO_MANY : (sets.length ? words : "");
  const lines = axps === null || !sets.length ? [] : axps;
  fill("axps", lines, (one) => [[namesOf(one), null], [[String(one.length)], one.length, "number"]], null);
}
function pickRow() {
  const row = page.rows[Number(byId("row").value)];
  const distances = row.steps.length - 1;
  byId("distances").hidden = distances === 0;
  byId("distance").max = distances;
  byId("distance").value = distances;
  offerFeatures(row);
  pickDistance();
}
function pickDistance() {
  const { step } = asked();
  byId("size").max = Math.max(step.reach, 1);
  byId("size").value = step.reach;
  byId("sizes").hidden = step.reach <= 1;
  show();
}
function offerFeatures(row) {
  const used = new Set(row.steps.flatMap((step) => step.cxps.flatMap((cxp) => cxp[0])));
  for (const f of frozen) { if (!used.has(f)) { frozen.delete(f); } }
  const choices = Array.from(used).sort((a, b) => a - b).map((f) => {
    const box = make("input", { type: "checkbox", value: f });
    box.checked = frozen.has(f);
    box.addEventListener("change", () => freeze(f, box.checked));
    return make("label", {}, box, make("span", {}, nameOf(page.features[f]), " = ", nameOf(row.values[f])));
  });
  byId("features").replaceChildren(...choices);
}
function freeze(f, is) {
  if (is) { frozen.add(f); } else { frozen.delete(f); }
  show();
}
function thaw() {
  frozen.clear();
  for (const box of document.querySelectorAll("#features input")) { box.checked = false; }
  show();
}
for (const head of document.querySelectorAll("#scored th, #cxps th, #axps th")) {
  if (head.cellIndex > 1 || (head.closest("#axps") && head.cellIndex > 0)) {
    head.dataset.first = "descending";
    head.classList.add("number");
  }
}
byId("row").replaceChildren(...page.rows.map((row, k) => make("option", { value: k }, `${row.label}: ${row.output}`)));
byId("kind").replaceChildren(...page.kinds.map((kind, k) => make("option", { value: k }, kind.about)));
byId("row").addEventListener("change", pickRow);
byId("distance").addEventListener("input", pickDistance);
byId("size").addEventListener("input", show);
byId("kind").addEventListener("change", show);
byId("thaw").addEventListener("click", thaw);
pickRow();
"""
