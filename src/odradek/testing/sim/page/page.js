// The controls: which events are shown, which one is looked at, and what the reader does.

const byId = id => document.getElementById(id);
const QUIET = history_.groups.length - 1;
const PRINTED_WIDTH = 690;  // of a landscape page, beside the labels
let visible = [];  // the numbers of the events that pass the filters
let current = -1;  // the event that is looked at; the state shown is that after it
let playing = null;

function passes(event, partition, wanted, groups) {
  if (!groups.has(event.g)) return false;
  if (event.p && !event.p.includes(partition)) return false;
  return !wanted || `${event.place} ${event.words}`.toLowerCase().includes(wanted);
}

function chosenPartition() {
  return Number(byId("partition").value || 0);
}

function choose() {
  const groups = new Set([...document.querySelectorAll("#groups input:checked")].map(box => Number(box.value)));
  const wanted = byId("filter").value.trim().toLowerCase(), partition = chosenPartition();
  visible = events.map((_, number) => number).filter(number => passes(events[number], partition, wanted, groups));
  byId("slider").max = Math.max(0, visible.length - 1);
  drawOverview();
  look(visible.includes(current) ? current : visible.filter(number => number <= current).pop() ?? visible[0] ?? -1);
}

function drawOverview() {
  const overview = byId("overview");
  overview.setAttribute("viewBox", `0 0 ${Math.max(1, visible.length)} 10`);
  overview.setAttribute("preserveAspectRatio", "none");
  overview.replaceChildren(...visible.map((number, place) => [events[number], place]).filter(([event]) => event.m).map(([event, place]) =>
    drawn("path", {class: event.cut ? "mark truncated" : `mark g${event.g}`, d: `M${place + 0.5} 0V10`})));
}

function look(number) {
  current = number;
  const place = visible.indexOf(number);
  const state = stateAfter(number);
  byId("slider").value = place;
  byId("time").textContent = number < 0 ? "" : milliseconds(events[number].t);
  byId("count").textContent = visible.length ? `event ${place + 1} of ${visible.length}` : "no event passes the filters";
  showLabels(state, chosenPartition());
  drawAround(place, byId("drawing").clientWidth || 1000);
  scrollToRow(place);
  showRows(visible, current, false);
  showDetails(number, pick);
}

function drawAround(place, width) {
  const count = Number(byId("zoom").value);
  const from = Math.max(0, Math.min(visible.length - count, place - Math.floor(count * 0.6)));
  drawLanes(visible.slice(from, from + count), current, chosenPartition(), look, width);
}

function onPrint() {
  drawAround(visible.indexOf(current), PRINTED_WIDTH);
  showRows(visible, current, true);
}

// Look at an event that the filters may hide.
function pick(number) {
  if (!visible.includes(number)) {
    const {p: partitions} = events[number];
    if (partitions && !partitions.includes(chosenPartition())) byId("partition").value = partitions[0];
    byId("filter").value = "";
    document.querySelector(`#groups input[value="${events[number].g}"]`).checked = true;
    current = number;
    choose();
  }
  look(number);
}

function stepBy(by) {
  const place = visible.indexOf(current) + by;
  if (place < 0 || place >= visible.length) { stop(); return; }
  look(visible[place]);
}

function toMilestone(by) {
  let place = visible.indexOf(current) + by;
  while (place >= 0 && place < visible.length && !events[visible[place]].m) place += by;
  if (place >= 0 && place < visible.length) look(visible[place]);
}

function stop() {
  clearInterval(playing);
  playing = null;
  byId("play").textContent = "▶ play";
}

function play() {
  if (playing !== null) { stop(); return; }
  if (current === visible[visible.length - 1]) look(visible[0] ?? -1);
  playing = setInterval(() => stepBy(1), 1000 / Number(byId("speed").value));
  byId("play").textContent = "❚❚ pause";
}

function first() { look(visible[0] ?? -1); }
function last() { look(visible[visible.length - 1] ?? -1); }

function onKey(event) {
  if (event.target.matches("input[type=search], select")) return;
  const keys = {
    ArrowLeft: () => stepBy(-1), ArrowRight: () => stepBy(1), ArrowUp: () => stepBy(-1), ArrowDown: () => stepBy(1),
    Home: first, End: last, " ": play, n: () => toMilestone(1), p: () => toMilestone(-1),
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
}

function makeControls() {
  document.title = byId("title").textContent = history_.title;
  byId("outcome").textContent = history_.outcome;
  const span = events.length ? `${milliseconds(events[0].t)} to ${milliseconds(events[events.length - 1].t)}` : "nothing happened";
  const forgotten = history_.forgotten ? `, ${history_.forgotten} earlier ones were not kept` : "";
  byId("facts").textContent = `${history_.brokers.length} brokers, ${events.length} events${forgotten}, ${span} of virtual time`;
  byId("partition").append(...history_.partitions.map((name, number) => element("option", {value: number}, name)));
  history_.groups.forEach((name, number) => {
    const box = element("input", {type: "checkbox", value: number});
    box.checked = number !== QUIET;
    byId("groups").append(element("label", {class: `chip g${number}`}, box, element("span", {class: "dot"}), name));
  });
  const actions = {first, last, back: () => stepBy(-1), forward: () => stepBy(1), play, milestone: () => toMilestone(1), "milestone-back": () => toMilestone(-1)};
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
  for (const id of ["partition", "filter", "groups"]) byId(id).addEventListener("input", choose);
  byId("zoom").addEventListener("input", () => look(current));
  byId("slider").addEventListener("input", event => { stop(); look(visible[Number(event.target.value)] ?? -1); });
  byId("events").addEventListener("scroll", () => showRows(visible, current, false));
  byId("events").addEventListener("click", event => {
    const found = event.target.closest(".event");
    if (found) look(Number(found.dataset.number));
  });
  byId("theme").addEventListener("click", () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
  });
  document.addEventListener("keydown", onKey);
  window.addEventListener("resize", () => look(current));
  window.addEventListener("beforeprint", onPrint);
  window.addEventListener("afterprint", () => look(current));
}

makeControls();
choose();
// "#event=41" in the address opens the page there.
const asked = Number((location.hash.match(/^#event=(\d+)$/) || [])[1] ?? NaN);
const cuts = events.map((event, number) => [event, number]).filter(([event]) => event.cut);
if (asked < events.length) pick(asked); else if (cuts.length) pick(cuts[0][1]); else last();
