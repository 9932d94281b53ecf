// Rows: for each process its threads, with the slices of their own, and its other tracks.

const processHeight = 24, rowHeight = 20, laneHeight = 18, curveHeight = 44;
const rowGap = 6;
const counterField = row => head.events[eventOf[row]].fields.find(field => field.name === "counter_value");
const noRows = new Uint32Array(0);
// All rows, and those of the numbers of tasks and tracks.
let rows = [], allRows = [], threadRows = [], trackRows = [];
// By their ids, which the page's address has.
const pinnedRows = new Set(), hiddenRows = new Set();
// Where the pinned rows end and those begin that can be scrolled.
let pinnedBottom = 0;

function makeRows() {
	const processes = new Map();
	const rowOf = (process, key, label, order) => {
		if (!processes.has(process))
			processes.set(process, new Map());
		const own = processes.get(process);
		if (!own.has(key))
			own.set(key, {id: process + key, process, label, order, instants: noRows, lanes: [], points: [], severe: []});
		return own.get(key);
	};
	// Of a name that is too long, the number at its end would be cut.
	const threadRow = task => Object.assign(rowOf(task.process, "t" + task.pid, task.label, task.pid),
		{short: `${task.pid - task.distance} ${task.name}`});
	threadRows = head.tasks.map(threadRow);
	fillInstants();
	const threadOf = new Map(head.tasks.map((task, i) => [task.pid, threadRows[i]]));
	trackRows = head.tracks.map((track, i) => track.own && threadOf.get(track.thread) ||
		rowOf(track.process, "k" + (track.row ?? i), track.name, 1e10 + (track.row ?? i)));
	for (let i = 0; i < slices.begin.length; i++) {
		const end = slices.end[i];
		if ((!passes[slices.begin[i]] && (end === none || !passes[end])) || hiddenNames.has(slices.name[i]))
			continue;
		const {lanes, severe: marks} = trackRows[slices.track[i]];
		(lanes[slices.depth[i]] = lanes[slices.depth[i]] || []).push(i);
		for (const row of [slices.begin[i], end])
			if (row !== none && severe[row])
				marks.push(time[row]);
	}
	for (let i = 0; i < counters.row.length; i++)
		if (passes[counters.row[i]])
			trackRows[counters.track[i]].points.push(counters.row[i]);
	allRows = [...processes].sort((a, b) => a[0] - b[0])
		.flatMap(([, own]) => [...own.values()].sort((a, b) => a.order - b.order)).filter(fillRow);
	placeRows(allRows.filter(row => !hiddenRows.has(row.id)));
}

// Prepares what is drawn of a row. Returns whether there is anything.
function fillRow(row) {
	row.lanes = Array.from(row.lanes, lane => makeLane(lane || []));
	row.severe = Float64Array.from(row.severe).sort();
	row.markHeight = row.severe.length ? markHeight + 1 : 0;
	if (row.points.length)
		makeCurve(row);
	else
		row.times = mapped(Float64Array, row.instants, i => time[i]);
	row.events = eventsOf(row.instants);
	row.lanesTop = row.markHeight + (row.instants.length ? barHeight + 2 : 0);
	row.height = row.points.length ? curveHeight
		: Math.max(row.lanesTop + row.lanes.length * laneHeight, row.instants.length ? 32 : rowHeight);
	return row.instants.length || row.lanes.length || row.points.length;
}

// Pinned rows are at the top; the others are below the name of their process.
function placeRows(shown) {
	let y = stripHeight;
	const place = row => {
		row.y = y;
		rows.push(row);
		y += row.height + (row.isProcess ? 0 : rowGap);
	};
	rows = [];
	for (const row of shown.filter(row => pinnedRows.has(row.id)))
		place(Object.assign(row, {isPinned: true}));
	pinnedBottom = y;
	let process;
	for (const row of shown.filter(row => !row.isPinned)) {
		if (row.process !== process)
			place({height: processHeight, label: head.processes[row.process], isProcess: true});
		process = row.process;
		place(row);
	}
	$("space").style.height = y + "px";
}

// Where the row is on the canvas.
const topOf = row => row.y - (row.isPinned ? 0 : $("scroll").scrollTop);

// The records of each thread that are neither slices nor counters. Arrays of a known size need a
// fraction of the memory and the time of arrays that grow.
function fillInstants() {
	const counts = new Uint32Array(threadRows.length);
	for (let row = 0; row < total; row++)
		if (passes[row] && !inTrack[row])
			counts[taskOf[row]]++;
	// A thread whose process changes has two numbers, with a row for each.
	threadRows.forEach((row, task) => { row.instants = new Uint32Array(counts[task]); });
	counts.fill(0);
	for (let row = 0; row < total; row++) {
		if (!passes[row] || inTrack[row])
			continue;
		const task = taskOf[row], own = threadRows[task];
		own.instants[counts[task]++] = row;
		if (severe[row])
			own.severe.push(time[row]);
	}
}

// The times of each event, the most frequent one first.
function eventsOf(instants) {
	const counts = new Uint32Array(head.events.length), times = new Map();
	for (const row of instants)
		counts[eventOf[row]]++;
	counts.forEach((count, event) => { if (count) times.set(event, new Float64Array(count)); });
	counts.fill(0);
	for (const row of instants)
		times.get(eventOf[row])[counts[eventOf[row]]++] = time[row];
	return [...times].map(([event, times]) => ({event, times})).sort((a, b) => b.times.length - a.times.length);
}

// Slices in the order of their beginnings; they were added at their ends. `reach` is the last end so
// far: in the last lane, slices can lie on each other.
function makeLane(list) {
	list.sort((a, b) => slices.from[a] - slices.from[b]);
	const lane = {slices: Uint32Array.from(list), from: mapped(Float64Array, list, i => slices.from[i]),
		to: mapped(Float64Array, list, i => slices.to[i]), name: mapped(Uint32Array, list, i => slices.name[i])};
	lane.reach = lane.to.slice();
	for (let i = 1; i < list.length; i++)
		lane.reach[i] = Math.max(lane.reach[i], lane.reach[i - 1]);
	return lane;
}

// A counter keeps a value until its next record.
function makeCurve(row) {
	row.times = Float64Array.from(row.points, i => time[i]);
	row.values = Float64Array.from(row.points, i => Number(value(i, counterField(i)) || 0));
	row.scale = d3.scaleLinear().domain([Math.min(0, d3.min(row.values)), Math.max(0, d3.max(row.values)) || 1])
		.range([curveHeight - 2, 4]);
}
