// The page about a DVM: it asks `pdvm web` for the documents of `pdvm --json`, once a second, and draws them.
"use strict";

const LONGEST_S = 300; // the time that the pictures show, at least when the DVM is that old
const SHORTEST_S = 60;
const MOST_ROWS = 60; // jobs in the picture
const MOST_JOBS = 200; // jobs in the table
const token = location.hash.slice(1);
const ended = []; // [uptime in seconds, number of jobs that had ended]
let chosen = null; // the job whose page is open

const at = (id) => document.getElementById(id);

const span = (now) => Math.min(LONGEST_S, Math.max(SHORTEST_S, now));

/** An element with a class and children; texts are never read as HTML. */
function make(name, options = {}, ...children) {
  const element = document.createElement(name);
  if (options.class) element.className = options.class;
  element.append(...children.map((child) => child ?? ""));
  return element;
}

function draw(name, attributes = {}, text = null) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

async function ask(what) {
  const answer = await fetch(`/api/${what}`, { headers: { Authorization: `Bearer ${token}` } });
  if (answer.status === 401) throw new Error("this address lacks the token: open the one that pdvm web has printed");
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json());
}

function seconds(number) {
  if (number === null || number === undefined) return "";
  if (number < 60) return `${number.toFixed(1)} s`;
  const whole = Math.round(number);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

function amount(resource, number) {
  if (resource !== "mem") return String(number);
  const unit = ["B", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  while (power < 4 && number >= 1024) { number /= 1024; power += 1; }
  return `${Number.isInteger(number) ? number : number.toFixed(1)} ${unit[power]}`;
}

function showNumbers(dvm) {
  const tiles = [
    ["nodes with a daemon", `${dvm.daemons} of ${dvm.nodes}`],
    ["slots in use", `${dvm.slots_in_use} of ${dvm.slots}`],
    ...dvm.resources.map((one) => [`${one.name} in use`, `${one.in_use} of ${one.amount}`]),
    ["processes", dvm.processes_running],
    ["jobs run", dvm.jobs_running],
    ["jobs wait", dvm.jobs_queued + dvm.jobs_held],
    ["jobs ended", dvm.jobs_ended],
    ["of them failed", dvm.jobs_failed],
  ];
  at("numbers").replaceChildren(...tiles.map(([name, value]) => make("div", {}, make("b", {}, String(value)), make("span", {}, name))));
}

function showRate(now, count, jobs) {
  // What the page has not seen itself, the list of jobs tells.
  if (ended.length === 0) {
    for (let when = now - span(now); when < now; when += 5) {
      ended.push([when, count - jobs.filter((job) => job.ended_s !== null && job.ended_s > when).length]);
    }
  }
  ended.push([now, count]);
  while (ended.length > 1 && ended[0][0] < now - LONGEST_S) ended.shift();
  const rates = [];
  for (let i = 1; i < ended.length; i += 1) {
    const [before, after] = [ended[i - 1], ended[i]];
    if (after[0] > before[0]) rates.push([after[0], (after[1] - before[1]) / (after[0] - before[0])]);
  }
  const most = Math.max(1, ...rates.map(([, rate]) => rate));
  const points = rates.map(([when, rate]) => `${1000 - ((now - when) / span(now)) * 1000},${38 - (rate / most) * 34}`);
  const picture = draw("svg", { viewBox: "0 0 1000 40", height: 40, preserveAspectRatio: "none", "aria-hidden": "true" });
  picture.append(draw("polyline", { points: points.join(" ") }));
  at("rate").replaceChildren(picture);
  at("most").textContent = most >= 10 ? Math.round(most) : most.toFixed(1);
}

function showGantt(now, jobs) {
  const [shown, width] = [span(now), Math.max(300, at("gantt").clientWidth)];
  const from = now - shown;
  const seen = jobs.filter((job) => (job.ended_s ?? now) >= from).slice(-MOST_ROWS);
  const row = Math.max(6, Math.min(14, Math.floor(480 / Math.max(1, seen.length))));
  const height = seen.length * row + 16;
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${seen.length} jobs over time` });
  const x = (when) => Math.max(0, ((when - from) / shown) * width);
  for (let mark = 0; mark <= 5; mark += 1) {
    const left = (mark / 5) * width;
    picture.append(draw("line", { class: "grid", x1: left, x2: left, y1: 0, y2: height - 14 }));
    const text = mark === 5 ? "now" : `-${Math.round((shown * (5 - mark)) / 5)} s`;
    picture.append(draw("text", { x: left, y: height - 3, "text-anchor": mark === 5 ? "end" : "start" }, text));
  }
  seen.forEach((job, place) => {
    const bar = (name, begin, end) => {
      const [left, right] = [x(begin), x(end)];
      const box = draw("rect", { class: name, x: left, width: Math.max(1.5, right - left), y: place * row, height: row - 2, rx: 1.5 });
      box.append(draw("title", {}, `job ${job.job}: ${job.command}`));
      picture.append(box);
    };
    const over = job.ended_s ?? now;
    bar("waits", job.submitted_s, job.running_s ?? over);
    if (job.running_s !== null) {
      bar(job.ended_s === null ? "runs" : job.ending === "done" ? "done" : "failed", job.running_s, over);
    }
  });
  at("gantt").replaceChildren(picture);
}

function showNodes(nodes) {
  const box = (node) => {
    const meter = make("meter");
    [meter.min, meter.max, meter.value] = [0, Math.max(1, node.slots), node.slots_in_use];
    const counted = node.resources.map((one) => `${one.name} ${amount(one.name, one.in_use)} of ${amount(one.name, one.amount)}`);
    const lines = [`${node.state}, ${node.slots_in_use} of ${node.slots} slots`, ...counted];
    return make("div", { class: `node ${node.state}` }, make("b", {}, node.name), meter, ...lines.map((line) => make("small", {}, line)));
  };
  at("nodes").replaceChildren(...nodes.map(box));
}

function rows(section, lines) {
  at(section).hidden = lines.length === 0;
  at(section).querySelector("tbody").replaceChildren(...lines.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)))));
}

function showChanges(dvm, sessions) {
  rows("changes", dvm.campaigns.map((one) => [one.change, one.step, one.nodes.join(", "), one.waiting_for]));
  rows("sessions", sessions.map((one) => {
    const left = one.time_left_s === null ? "" : seconds(one.time_left_s);
    return [String(one.session), one.allocation, one.nodes.join(", "), `${one.slots_in_use} of ${one.slots}`, one.jobs.join(", "), left];
  }));
}

function showJobs(jobs) {
  const newest = [...jobs].reverse();
  const open = newest.filter((job) => job.ended_s === null);
  const listed = [...open, ...newest.filter((job) => job.ended_s !== null)].slice(0, MOST_JOBS);
  const line = (job) => {
    const how = job.ended_s === null ? job.waiting_for : `${job.ending}, exit code ${job.exit_code}`;
    const cells = [job.job, job.state, job.processes, job.nodes, seconds(job.ran_s), how, job.command];
    const row = make("tr", { class: "one" }, ...cells.map((cell) => make("td", {}, cell === null ? "" : String(cell))));
    row.tabIndex = 0;
    row.onclick = () => choose(job.job);
    row.onkeydown = (event) => event.key === "Enter" && choose(job.job);
    return row;
  };
  at("jobs").querySelector("tbody").replaceChildren(...listed.map(line));
  at("more").textContent = jobs.length > listed.length ? `${jobs.length - listed.length} more: pdvm jobs --all` : "";
}

function showJob(job) {
  const page = at("job");
  page.hidden = false;
  page.querySelector("h2").textContent = `Job ${job.job}`;
  const facts = [
    ["command", job.command], ["state", job.state], ["waits for", job.waiting_for], ["namespace", job.namespace],
    ["submitted", job.submitted_at], ["began", job.running_at], ["ended", job.ended_at], ["ran", seconds(job.ran_s)],
    ["exit code", job.exit_code], ["why", job.cause], ["session", job.session], ["submitted by", job.launcher],
  ].filter(([, value]) => value !== null && value !== "");
  page.querySelector("dl").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, String(value))]));
  const nodes = new Map();
  for (const process of job.process_list) {
    if (!nodes.has(process.node)) nodes.set(process.node, []);
    nodes.get(process.node).push(process);
  }
  const rank = (process) => {
    const box = make("span", { class: process.state === "RUNNING" ? "rank" : "rank over" }, String(process.rank));
    const where = [process.bound_to, ...process.devices].filter(Boolean).join(", ");
    box.title = `rank ${process.rank}, ${process.state}, pid ${process.pid ?? "none"}${where ? `, ${where}` : ""}`;
    return box;
  };
  const boxes = [...nodes].map(([name, list]) => make("div", { class: "node" }, make("b", {}, name), make("div", {}, ...list.map(rank))));
  at("map").replaceChildren(...boxes);
}

function choose(job) {
  chosen = job;
  refresh().then(() => at("job").scrollIntoView({ block: "nearest" }));
}

async function refresh() {
  const state = at("state");
  try {
    const [status, nodes, jobs, sessions] = await Promise.all(["status", "nodes", "jobs", "sessions"].map(ask));
    const dvm = status;
    at("name").textContent = document.title = status.dvm;
    state.textContent = `${dvm.state ?? "starting"}${dvm.waiting_for ? `, waits for ${dvm.waiting_for}` : ""}, version ${dvm.version}, up ${seconds(status.uptime_s)}`;
    state.className = "";
    showNumbers(dvm);
    showRate(status.uptime_s, dvm.jobs_ended, jobs.jobs);
    showGantt(status.uptime_s, jobs.jobs);
    showNodes(nodes.nodes);
    showChanges(dvm, sessions.sessions);
    showJobs(jobs.jobs);
    if (chosen !== null) showJob(await ask(`job/${chosen}`));
  } catch (error) {
    const gone = error instanceof TypeError;
    state.textContent = gone ? "no answer: pdvm web or its DVM has ended" : error.message;
    state.className = "bad";
    if (!gone) chosen = null;
  }
}

async function always() {
  await refresh();
  setTimeout(always, document.hidden ? 5000 : 1000);
}

document.addEventListener("DOMContentLoaded", () => {
  at("job").querySelector("button").onclick = () => { chosen = null; at("job").hidden = true; };
  always();
});
