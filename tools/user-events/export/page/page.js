"use strict";
// The page that `user-events export --format html` makes. The data is in the element "head", JSON, and
// in elements of the class "block": the columns of some 65,000 records, compressed and in Base64. All
// text of the recording reaches the document as text, never as HTML.
(async () => {
const $ = id => document.getElementById(id);
const none = 0xffffffff;
const head = JSON.parse($("head").textContent);
const arrays = {u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array,
	s64: BigInt64Array, u64: BigUint64Array};
const widths = Object.keys(arrays);
const readers = {u8: "getUint8", u16: "getUint16", u32: "getUint32", f64: "getFloat64",
	s64: "getBigInt64", u64: "getBigUint64"};

// Numbers in a block are little-endian, whatever the machine.
function numbers(data, offset, c) {
	const result = new arrays[c.type](c.length);
	const view = new DataView(data, offset), read = view[readers[c.type]];
	for (let i = 0; i < c.length; i++)
		result[i] = read.call(view, i * result.BYTES_PER_ELEMENT, true);
	return result;
}

// A block begins with the length of the JSON that describes it.
async function unpack(element) {
	const packed = Uint8Array.from(atob(element.textContent), c => c.charCodeAt(0));
	element.remove();
	const data = await new Response(new Blob([packed]).stream()
		.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
	const size = new DataView(data).getUint32(0, true);
	const block = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
	const start = Math.ceil((4 + size) / 8) * 8;
	block.column = c => numbers(data, start + c.offset, c);
	return block;
}
const blocks = [];
for (const element of document.querySelectorAll("script.block"))
	blocks.push(await unpack(element));

// Joins the columns of all blocks. Each block has chosen its type.
function join(columnOf) {
	const parts = blocks.map(block => [block, columnOf(block)]).filter(([, c]) => c);
	const type = widths[Math.max(0, ...parts.map(([, c]) => widths.indexOf(c.type)))];
	const result = new arrays[type](parts.reduce((sum, [, c]) => sum + c.length, 0));
	let at = 0;
	for (const [block, c] of parts) {
		const values = block.column(c);
		if (type === c.type || !type.endsWith("64") || type === "f64")
			result.set(values, at);
		else
			values.forEach((value, i) => { result[at + i] = BigInt(value); });
		at += c.length;
	}
	return result;
}

// Texts have a number in each block; here they get one for all.
head.strings = [];
const stringNumbers = new Map();
for (const block of blocks)
	block.numbers = block.strings.map(text => {
		if (!stringNumbers.has(text)) {
			stringNumbers.set(text, head.strings.length);
			head.strings.push(text);
		}
		return stringNumbers.get(text);
	});
function joinStrings(columnOf) {
	const result = new Uint32Array(blocks.reduce((sum, block) => sum + (columnOf(block)?.length || 0), 0));
	let at = 0;
	for (const block of blocks)
		if (columnOf(block))
			for (const number of block.column(columnOf(block)))
				result[at++] = block.numbers[number];
	return result;
}

// The time since the record before, a BigInt if one is longer than 4 s.
const time = Float64Array.from(join(block => block.time), Number);
for (let row = 1; row < time.length; row++)
	time[row] += time[row - 1];
const eventOf = join(block => block.event), taskOf = join(block => block.task);
const cpuOf = join(block => block.cpu);
const total = time.length;
const lastTime = total ? time[total - 1] : 0;
const slices = {begin: join(block => block.slices.begin), end: join(block => block.slices.end),
	track: join(block => block.slices.track), depth: join(block => block.slices.depth),
	name: joinStrings(block => block.slices.name)};
slices.from = Float64Array.from(slices.begin, row => time[row]);
slices.to = Float64Array.from(slices.end, row => row === none ? lastTime : time[row]);
const counters = {row: join(block => block.counters.row), track: join(block => block.counters.track)};

// Records that are drawn as a slice or as the value of a counter.
const inTrack = new Uint8Array(total);
for (const rows of [slices.begin, slices.end, counters.row])
	for (const row of rows)
		if (row !== none)
			inTrack[row] = 1;

// The place of each record in the columns of its event.
const place = new Uint32Array(total);
head.events.forEach((event, i) => {
	event.rows = new Uint32Array(event.count);
	event.used = 0;
	event.shown = true;
	event.fields.forEach((field, j) => {
		const part = block => block.events[i]?.[j];
		field.values = (field.isNumber ? join : joinStrings)(block => part(block)?.column);
		field.missing = new Set();
		let at = 0;
		for (const block of blocks) {
			for (const absent of part(block)?.absent || [])
				field.missing.add(at + absent);
			at += part(block)?.column.length || 0;
		}
	});
});
for (let row = 0; row < total; row++) {
	const event = head.events[eventOf[row]];
	place[row] = event.used;
	event.rows[event.used++] = row;
}
const colour = d3.scaleOrdinal(d3.schemeTableau10).domain(d3.range(head.events.length));
const nameColour = d3.scaleOrdinal(d3.schemeSet2);

function value(row, field) {
	const at = place[row];
	if (field.missing.has(at))
		return null;
	return field.isNumber ? field.values[at] : head.strings[field.values[at]];
}

// The filter: words, all of which have to fit. NAME OP VALUE compares a field; another word is
// looked for in the names of event, task and process, and in all text.

function parse(text) {
	const words = text.match(/[^\s"]*"[^"]*"?|\S+/g) || [];
	return words.map(word => {
		const parts = /^([^=!<>~"]+)(!=|<=|>=|=|<|>|~)(.*)$/.exec(word);
		const bare = s => s.replace(/^"|"$/g, "");
		if (!parts)
			return row => contains(row, bare(word).toLowerCase());
		const [, name, operator, raw] = parts, wanted = bare(raw), number = Number(wanted);
		const compare = found => {
			if (found === null || found === undefined)
				return false;
			const isNumber = typeof found !== "string" && wanted !== "" && !Number.isNaN(number);
			const a = isNumber ? Number(found) : String(found), b = isNumber ? number : wanted;
			switch (operator) {
			case "=": return a === b;
			case "!=": return a !== b;
			case "<": return a < b;
			case ">": return a > b;
			case "<=": return a <= b;
			case ">=": return a >= b;
			default: return String(found).includes(wanted);
			}
		};
		return row => compare(named(row, name));
	});
}

function named(row, name) {
	const event = head.events[eventOf[row]], task = head.tasks[taskOf[row]];
	const field = event.fields.find(field => field.name === name);
	if (field)
		return value(row, field);
	switch (name) {
	case "event": return event.name;
	case "task": return task.name;
	case "pid": return task.pid;
	case "process": return task.process;
	case "cpu": return cpuOf[row];
	case "system": return event.system;
	}
	return undefined;
}

function contains(row, word) {
	const event = head.events[eventOf[row]], task = head.tasks[taskOf[row]];
	return event.lower.includes(word) || task.lower.includes(word) ||
		event.fields.some(field => !field.isNumber &&
			String(value(row, field)).toLowerCase().includes(word));
}
for (const named of [...head.events, ...head.tasks])
	named.lower = named.name.toLowerCase();

const passes = new Uint8Array(total).fill(1);
let passing = total;

function applyFilter() {
	const tests = parse($("filter").value.trim());
	passing = 0;
	for (let row = 0; row < total; row++) {
		passes[row] = head.events[eventOf[row]].shown && tests.every(test => test(row)) ? 1 : 0;
		passing += passes[row];
	}
	makeRows();
	draw();
	drawHistograms();
	showCount();
}

function showCount() {
	const digits = number => number.toLocaleString("en");
	$("count").textContent = `${digits(passing)} of ${digits(total)} records`;
}

// Rows: for each process its threads, with the slices of their own, and its other tracks.

const processHeight = 24, rowHeight = 20, laneHeight = 18, curveHeight = 44;
const rowGap = 6;
const counterField = row => head.events[eventOf[row]].fields.find(field => field.name === "counter_value");
let rows = [];

function makeRows() {
	const processes = new Map();
	const rowOf = (process, key, label, order) => {
		if (!processes.has(process))
			processes.set(process, new Map());
		const own = processes.get(process);
		if (!own.has(key))
			own.set(key, {label, order, instants: [], lanes: [], points: []});
		return own.get(key);
	};
	const threadRow = task => rowOf(task.process, "t" + task.pid, `${task.name} ${task.pid}`, task.pid);
	const threads = head.tasks.map(threadRow);
	for (let row = 0; row < total; row++)
		if (passes[row] && !inTrack[row])
			threads[taskOf[row]].instants.push(row);
	const threadOf = new Map(head.tasks.map((task, i) => [task.pid, threads[i]]));
	const trackRows = head.tracks.map((track, i) => track.own && threadOf.get(track.thread) ||
		rowOf(track.process, "k" + i, track.name, 1e10 + i));
	for (let i = 0; i < slices.begin.length; i++) {
		const end = slices.end[i];
		if (!passes[slices.begin[i]] && (end === none || !passes[end]))
			continue;
		const lanes = trackRows[slices.track[i]].lanes;
		(lanes[slices.depth[i]] = lanes[slices.depth[i]] || []).push(i);
	}
	for (let i = 0; i < counters.row.length; i++)
		if (passes[counters.row[i]])
			trackRows[counters.track[i]].points.push(counters.row[i]);
	rows = [];
	let y = 0;
	for (const [process, own] of [...processes].sort((a, b) => a[0] - b[0])) {
		rows.push({y, height: processHeight, label: head.processes[process] + " " + process, isProcess: true});
		y += processHeight;
		for (const row of [...own.values()].sort((a, b) => a.order - b.order)) {
			row.lanes = Array.from(row.lanes, lane => lane || []);
			if (!row.instants.length && !row.lanes.length && !row.points.length)
				continue;
			row.y = y;
			row.instantHeight = row.instants.length ? rowHeight : 0;
			row.height = row.instantHeight + row.lanes.length * laneHeight;
			if (row.points.length)
				makeCurve(row);
			else
				row.times = Float64Array.from(row.instants, i => time[i]);
			for (const lane of row.lanes) {
				// In the order of their beginnings; they were added at their ends.
				lane.sort((a, b) => slices.from[a] - slices.from[b]);
				lane.to = Float64Array.from(lane, i => slices.to[i]);
			}
			rows.push(row);
			y += row.height + rowGap;
		}
	}
	$("space").style.height = Math.max(y, $("scroll").clientHeight) + "px";
}

// A counter keeps a value until its next record.
function makeCurve(row) {
	row.height = curveHeight;
	row.times = Float64Array.from(row.points, i => time[i]);
	row.values = Float64Array.from(row.points, i => Number(value(i, counterField(i)) || 0));
	row.scale = d3.scaleLinear().domain([Math.min(0, d3.min(row.values)), Math.max(0, d3.max(row.values)) || 1])
		.range([curveHeight - 2, 4]);
}

// Drawing: for each pixel at most one rectangle of a row, however many records are there.

const margin = 190;
const font = "12px system-ui, sans-serif";
const canvas = $("canvas"), context = canvas.getContext("2d");
const whole = d3.scaleLinear().domain([0, lastTime || 1]);
let x = whole.copy(), width = 0, height = 0;

function drawInstants(row, y, from, to) {
	const times = row.times;
	for (let i = d3.bisectLeft(times, from); i < times.length && times[i] <= to;) {
		const pixel = Math.floor(x(times[i]));
		const next = Math.max(i + 1, d3.bisectLeft(times, x.invert(pixel + 1), i));
		context.globalAlpha = next - i === 1 ? .8 : 1;
		context.fillStyle = colour(eventOf[row.instants[i]]);
		const short = next - i === 1 ? 6 : next - i < 10 ? 3 : 0;
		context.fillRect(pixel, y + short, next - i === 1 ? 2 : 1, row.instantHeight - 4 - short);
		i = next;
	}
	context.globalAlpha = 1;
}

function drawLane(lane, y, from, to) {
	for (let i = d3.bisectLeft(lane.to, from); i < lane.length && slices.from[lane[i]] <= to;) {
		const slice = lane[i], left = Math.max(x(slices.from[slice]), margin - 1);
		const wide = Math.max(Math.min(x(slices.to[slice]), width + 1) - left, 1);
		const name = head.strings[slices.name[slice]] || "";
		context.fillStyle = nameColour(name);
		// A gap tells neighbours apart.
		context.fillRect(left, y, wide > 3 ? wide - 1 : wide, laneHeight - 2);
		if (wide > 24) {
			context.fillStyle = "#24292f";
			const fits = Math.floor((wide - 8) / 6.5);
			context.fillText(name.length > fits ? name.slice(0, fits - 1) + "…" : name, left + 4,
				y + laneHeight / 2 - 1);
		}
		i = wide > 1 ? i + 1
			: Math.max(i + 1, d3.bisectLeft(lane.to, x.invert(Math.floor(left) + 1), i));
	}
}

// For each pixel the first, least, greatest and last value.
function drawCurve(row, y, from, to) {
	const {times, values, scale} = row, path = new Path2D(), ground = y + scale(0);
	let i = Math.max(d3.bisectRight(times, from) - 1, 0);
	const left = Math.max(Math.floor(x(times[i])), margin - 1);
	path.moveTo(left, y + scale(values[i]));
	while (i < times.length && times[i] <= to) {
		const pixel = Math.max(Math.floor(x(times[i])), left);
		const next = Math.max(i + 1, d3.bisectLeft(times, x.invert(pixel + 1), i));
		path.lineTo(pixel, y + scale(values[Math.max(i - 1, 0)]));
		if (next - i > 1) {
			const [least, greatest] = d3.extent(values.subarray(i, next));
			path.lineTo(pixel, y + scale(least));
			path.lineTo(pixel, y + scale(greatest));
		}
		path.lineTo(pixel, y + scale(values[next - 1]));
		i = next;
	}
	const right = Math.min(i < times.length ? width : x(lastTime), width) + 1;
	path.lineTo(right, y + scale(values[i - 1]));
	const area = new Path2D(path);
	area.lineTo(right, ground);
	area.lineTo(left, ground);
	context.strokeStyle = context.fillStyle = colour(eventOf[row.points[0]]);
	context.globalAlpha = .2;
	context.fill(area);
	context.globalAlpha = 1;
	context.stroke(path);
}

function drawRow(row, y, from, to) {
	context.save();
	context.beginPath();
	context.rect(margin, y, width - margin, row.height);
	context.clip();
	context.font = font;
	if (row.values)
		drawCurve(row, y, from, to);
	else
		drawInstants(row, y + 2, from, to);
	row.lanes.forEach((lane, i) => drawLane(lane, y + row.instantHeight + i * laneHeight, from, to));
	context.restore();
}

function drawLabel(row, y) {
	context.save();
	context.beginPath();
	context.rect(0, y, row.isProcess ? width : margin - 8, row.height);
	context.clip();
	context.font = row.isProcess ? "600 " + font : font;
	context.fillStyle = "#24292f";
	const middle = y + (row.isProcess ? processHeight : rowHeight) / 2;
	context.fillText(row.label, row.isProcess ? 12 : 24, middle);
	if (row.values) {
		context.fillStyle = "#6e7781";
		const [least, greatest] = row.scale.domain();
		context.fillText(`${plain(least)} to ${plain(greatest)}`, 24, middle + 15);
	}
	context.restore();
}

// Where records are missing, a bar across all rows. Neighbours that are on the same pixel are one.
function drawGaps(from, to) {
	context.fillStyle = "rgba(207, 34, 46, .3)";
	let end = -1;
	for (const [since, time] of head.gaps) {
		const left = Math.max(margin, x(since)), right = Math.max(x(time), left + 2);
		if (time < from || since > to || right <= end)
			continue;
		context.fillRect(Math.max(left, end), 0, right - Math.max(left, end), height);
		end = right;
	}
}

function draw() {
	const top = $("scroll").scrollTop, [from, to] = x.domain();
	context.clearRect(0, 0, width, height);
	context.textBaseline = "middle";
	context.fillStyle = "#f6f8fa";
	context.fillRect(0, 0, margin, height);
	context.fillStyle = "#eaeef2";
	for (const tick of x.ticks(tickCount()))
		context.fillRect(Math.round(x(tick)), 0, 1, height);
	drawGaps(from, to);
	for (const row of rows) {
		const y = row.y - top;
		if (y + row.height < 0 || y > height)
			continue;
		if (row.isProcess) {
			context.fillStyle = "#e4eaf1";
			context.fillRect(0, y, width, row.height - 2);
		} else {
			drawRow(row, y, from, to);
		}
		drawLabel(row, y);
	}
	drawAxis();
}

// Times. The axis shows them from the beginning of the recording.

const plain = value => String(+Number(value).toPrecision(6));

function span(ns, digits = 4) {
	const size = Math.abs(ns);
	const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
	return +(ns / unit).toPrecision(digits) + " " + name;
}

function clock(ns) {
	const start = BigInt(head.start);
	const exact = start + BigInt(Math.round(ns)), seconds = exact / 1000000000n;
	const rest = String(exact % 1000000000n).padStart(9, "0");
	return head.wall_clock
		? new Date(Number(seconds) * 1000).toLocaleString("sv") + "." + rest
		: seconds + "." + rest;
}

const tickCount = () => Math.max(2, width / 130);

function drawAxis() {
	const [from, to] = x.domain();
	const precise = Math.max(4, Math.ceil(Math.log10(Math.max(Math.abs(to), 1) / (to - from))) + 3);
	d3.select("#axis").attr("width", width).call(d3.axisTop(x).ticks(tickCount())
		.tickFormat(ns => span(ns, Math.min(precise, 15)))).selectAll(".domain").remove();
	d3.select("#axis").selectAll("g").attr("transform", function () {
		return this.getAttribute("transform").replace(/,0\)/, ",22)");
	});
	$("range").textContent = `${clock(from)} + ${span(to - from)}`;
}

// Zooming and panning. The wheel zooms; dragging moves in both directions.

const zoom = d3.zoom().on("zoom", () => {
	const {transform, sourceEvent} = d3.event;
	x = transform.rescaleX(whole);
	if (sourceEvent && sourceEvent.type === "mousemove")
		$("scroll").scrollTop -= sourceEvent.movementY;
	requestDraw();
}).on("end", () => requestHistograms());

let drawing = false, waiting = 0;
function requestDraw() {
	if (drawing)
		return;
	drawing = true;
	requestAnimationFrame(() => { drawing = false; draw(); });
}
function requestHistograms() {
	clearTimeout(waiting);
	waiting = setTimeout(drawHistograms, 150);
}

function resize() {
	const ratio = window.devicePixelRatio || 1;
	width = $("scroll").clientWidth;
	height = $("scroll").clientHeight;
	canvas.width = width * ratio;
	canvas.height = height * ratio;
	canvas.style.width = width + "px";
	canvas.style.height = height + "px";
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	whole.range([margin, width - 10]);
	zoom.extent([[margin, 0], [width - 10, height]]).translateExtent([[margin, 0], [width - 10, height]])
		.scaleExtent([1, Math.max(1, lastTime / 100)]);
	x = d3.zoomTransform(canvas).rescaleX(whole);
	draw();
}

// Hovering and clicking.

function find(px, py) {
	const y = py + $("scroll").scrollTop;
	const row = rows.find(row => !row.isProcess && y >= row.y && y < row.y + row.height);
	if (!row || px < margin)
		return null;
	const at = x.invert(px);
	if (row.values) {
		const i = d3.bisectRight(row.times, at) - 1;
		return i < 0 ? null : {record: row.points[i], others: 0};
	}
	if (y < row.y + row.instantHeight) {
		const from = d3.bisectLeft(row.times, x.invert(px - 4)), to = d3.bisectRight(row.times, x.invert(px + 4));
		if (from >= to)
			return null;
		let best = from;
		for (let i = from; i < to && i < from + 10000; i++)
			if (Math.abs(row.times[i] - at) < Math.abs(row.times[best] - at))
				best = i;
		return {record: row.instants[best], others: to - from - 1};
	}
	const lane = row.lanes[Math.floor((y - row.y - row.instantHeight) / laneHeight)];
	if (!lane)
		return null;
	const i = d3.bisectLeft(lane.to, x.invert(px - 2));
	return i < lane.length && slices.from[lane[i]] <= x.invert(px + 2) ? {slice: lane[i], others: 0} : null;
}

// The fields that a slice or a curve shows anyway.
const drawn = new Set(["track_event_type", "slice_name", "track_name"]);

function fieldLines(row, prefix = "", without = new Set()) {
	const event = head.events[eventOf[row]];
	// An event that describes its fields need not have each of them.
	const isShown = field => !without.has(field.name) && !(event.described && value(row, field) === null);
	return event.fields.filter(isShown).map(field => {
		const found = value(row, field);
		return [prefix + field.name, found === null ? "(cut off)" : String(found)];
	});
}

function headLines(row) {
	const event = head.events[eventOf[row]], task = head.tasks[taskOf[row]];
	return [["event", event.system + ":" + event.name], ["time", clock(time[row])],
		["thread", `${task.name} ${task.pid}`], ["process", String(task.process)], ["CPU", String(cpuOf[row])]];
}

function sliceLines(slice) {
	const begin = slices.begin[slice], end = slices.end[slice], hasEnd = end !== none;
	const lines = [["slice", head.strings[slices.name[slice]] || ""],
		["duration", span(slices.to[slice] - slices.from[slice], 6) + (hasEnd ? "" : " (no end)")],
		...headLines(begin), ...fieldLines(begin, "", drawn)];
	if (hasEnd && eventOf[end] !== eventOf[begin])
		lines.push(["end: event", head.events[eventOf[end]].system + ":" + head.events[eventOf[end]].name]);
	if (hasEnd && taskOf[end] !== taskOf[begin])
		lines.push(...headLines(end).slice(2, 4).map(([name, text]) => ["end: " + name, text]));
	return hasEnd ? [...lines, ...fieldLines(end, "end: ", drawn)] : lines;
}

function describe(item) {
	const lines = item.slice === undefined ? [...headLines(item.record), ...fieldLines(item.record)]
		: sliceLines(item.slice);
	if (item.others)
		lines.push(["here", `${item.others} more`]);
	const table = document.createElement("table");
	for (const line of lines) {
		const tr = table.insertRow();
		for (const text of line)
			tr.insertCell().textContent = text;
	}
	return table;
}

canvas.addEventListener("mousemove", event => {
	const item = event.buttons ? null : find(event.offsetX, event.offsetY);
	const tooltip = $("tooltip");
	tooltip.hidden = !item;
	if (!item)
		return;
	tooltip.replaceChildren(describe(item));
	const box = tooltip.getBoundingClientRect();
	tooltip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - box.width - 4)) + "px";
	tooltip.style.top = Math.max(0, Math.min(event.clientY + 14, innerHeight - box.height - 4)) + "px";
});
canvas.addEventListener("mouseleave", () => { $("tooltip").hidden = true; });
canvas.addEventListener("click", event => {
	const item = find(event.offsetX, event.offsetY);
	if (!item)
		return;
	$("record").replaceChildren(describe(item));
	$("what").value = item.slice === undefined ? "e" + eventOf[item.record] : "s" + slices.name[item.slice];
	drawHistograms();
});

// Distributions of what is shown and passes the filter.

function histogram(title, values, format, fill) {
	const figure = document.createElement("figure");
	const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
	const caption = document.createElement("figcaption");
	const text = number => format(number);
	figure.dataset.count = sorted.length;
	figure.dataset.name = title;
	caption.textContent = sorted.length === 0 ? `${title}: none` : `${title}: ${sorted.length} values, ` +
		`${text(sorted[0])} … ${text(d3.quantile(sorted, .5))} … ${text(sorted[sorted.length - 1])}`;
	figure.append(caption);
	if (sorted.length === 0)
		return figure;
	const w = 300, h = 90;
	const across = d3.scaleLinear().domain(sorted[0] === sorted[sorted.length - 1]
		? [sorted[0] - .5, sorted[0] + .5] : [sorted[0], sorted[sorted.length - 1]]).range([8, w - 8]);
	const bins = d3.histogram().domain(across.domain()).thresholds(across.ticks(40))(sorted);
	const up = d3.scaleLinear().domain([0, d3.max(bins, bin => bin.length)]).range([h - 20, 4]);
	const svg = d3.select(figure).append("svg").attr("width", w).attr("height", h);
	svg.selectAll("rect").data(bins).enter().append("rect").attr("fill", fill)
		.attr("x", bin => across(bin.x0)).attr("width", bin => Math.max(1, across(bin.x1) - across(bin.x0) - 1))
		.attr("y", bin => up(bin.length)).attr("height", bin => h - 20 - up(bin.length))
		.append("title").text(bin => `${text(bin.x0)} to ${text(bin.x1)}: ${bin.length}`);
	svg.append("g").attr("transform", `translate(0,${h - 20})`).call(d3.axisBottom(across).ticks(4).tickFormat(text));
	return figure;
}

function drawHistograms() {
	const chosen = $("what").value, number = Number(chosen.slice(1)), [from, to] = x.domain();
	const figures = [];
	if (chosen[0] === "e") {
		const event = head.events[number];
		const rows = event.rows.filter(row => passes[row] && time[row] >= from && time[row] <= to);
		for (const field of event.fields)
			if (field.isNumber)
				figures.push(histogram(field.name, Array.from(rows, row => value(row, field))
					.filter(found => found !== null).map(Number), plain, colour(number)));
		figures.push(histogram("time between", Array.from(rows, (row, i) => i ? time[row] - time[rows[i - 1]] : NaN), span,
			colour(number)));
	} else if (chosen[0] === "s") {
		const found = [];
		for (let i = 0; i < slices.begin.length; i++)
			if (slices.name[i] === number && slices.end[i] !== none && slices.from[i] <= to &&
				slices.to[i] >= from && (passes[slices.begin[i]] || passes[slices.end[i]]))
				found.push(slices.to[i] - slices.from[i]);
		figures.push(histogram("duration", found, span, nameColour(head.strings[number] || "")));
	}
	$("histograms").replaceChildren(...figures);
}

// The legend hides and shows events.

function makeLegend() {
	head.events.forEach((event, i) => {
		const button = document.createElement("button"), box = document.createElement("i");
		button.type = "button";
		box.style.background = colour(i);
		button.append(box, `${event.name} ${event.count.toLocaleString("en")}`);
		button.addEventListener("click", () => {
			event.shown = !event.shown;
			button.classList.toggle("off", !event.shown);
			applyFilter();
		});
		$("legend").append(button);
		$("what").append(new Option(event.name, "e" + i));
	});
	for (const name of new Set(slices.name))
		$("what").append(new Option(`duration of ${head.strings[name] || "slices"}`, "s" + name));
}

// Begin with an event that has numbers.
const first = head.events.findIndex(event => event.fields.some(field => field.isNumber));
document.title = $("title").textContent = head.source;
if (head.gapCount) {
	$("lost").textContent = (head.lost ? `${head.lost} records` : "Records") +
		` are missing, in ${head.gapCount} ${head.gapCount === 1 ? "place" : "places"}`;
	$("lost").hidden = false;
}
makeLegend();
if (first > 0)
	$("what").value = "e" + first;
d3.select(canvas).call(zoom);
$("all").addEventListener("click", () => d3.select(canvas).call(zoom.transform, d3.zoomIdentity));
$("scroll").addEventListener("scroll", requestDraw);
$("what").addEventListener("change", drawHistograms);
let typing = 0;
$("filter").addEventListener("input", () => {
	clearTimeout(typing);
	typing = setTimeout(applyFilter, 200);
});
new ResizeObserver(resize).observe($("chart"));
makeRows();
resize();
drawHistograms();
showCount();
document.documentElement.dataset.ready = "1";
})();
