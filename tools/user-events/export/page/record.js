// Hovering and clicking.

function find(px, py) {
	const isPinned = py < pinnedBottom, y = py + (isPinned ? 0 : $("scroll").scrollTop);
	const row = rows.find(row => !row.isProcess && Boolean(row.isPinned) === isPinned &&
		y >= row.y && y < row.y + row.height);
	if (!row || px < margin)
		return null;
	const at = x.invert(px);
	if (row.values) {
		const i = d3.bisectRight(row.times, at) - 1;
		return i < 0 ? null : {record: row.points[i], others: 0};
	}
	if (y < row.y + row.lanesTop) {
		const from = d3.bisectLeft(row.times, x.invert(px - 4)), to = d3.bisectRight(row.times, x.invert(px + 4));
		if (from >= to)
			return null;
		let best = from;
		for (let i = from; i < to && i < from + 10000; i++)
			if (Math.abs(row.times[i] - at) < Math.abs(row.times[best] - at))
				best = i;
		return {record: row.instants[best], others: to - from - 1, pixel: pixelText(row, px)};
	}
	const lane = row.lanes[Math.floor((y - row.y - row.lanesTop) / laneHeight)];
	return lane ? findSlice(lane, px) : null;
}

// The slice below the mouse, or one that is at most 2 pixels away.
function findSlice(lane, px) {
	const from = x.invert(px - 2), to = x.invert(px + 2);
	let i = d3.bisectLeft(lane.reach, from);
	while (i < lane.slices.length && lane.to[i] < from)
		i++;
	if (i === lane.slices.length || lane.from[i] > to)
		return null;
	return {slice: lane.slices[i], others: d3.bisectRight(lane.from, to) - i - 1};
}

// What is in a pixel, if this is more than one record: "order 12, work 3".
function pixelText(row, px) {
	const pixel = Math.floor(px), {counts, sums} = densityOf(row, pixel, pixel + 1);
	return sums[0] > 1 ? row.events.map(({event}, i) => [head.events[event].name, counts[i][0]])
		.filter(([, count]) => count).map(([name, count]) => `${name} ${count.toLocaleString("en")}`).join(", ") : "";
}

// The fields that a slice or a curve shows anyway.
const drawn = new Set(["track_event_type", "slice_name", "track_name"]);

function fieldLines(row, prefix = "", without = new Set()) {
	const event = head.events[eventOf[row]];
	// An event that describes its fields need not have each of them.
	const isShown = field => !without.has(field.name) && !(event.described && value(row, field) === null);
	return event.fields.filter(isShown).map(field => {
		const found = value(row, field);
		return [prefix + field.name, found === null ? "(cut off)"
			: field === stackField(event) ? found.split(";").reverse().join("\n") : String(found), event.described];
	});
}

function headLines(row) {
	const event = head.events[eventOf[row]], task = head.tasks[taskOf[row]];
	return [["event", event.system + ":" + event.name], ["time", clock(time[row])],
		["thread", task.place], ["process", String(task.process - task.distance)], ["CPU", String(cpuOf[row])]];
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

function linesOf(item) {
	return item.slice === undefined ? [...headLines(item.record), ...fieldLines(item.record)] : sliceLines(item.slice);
}

// Structs are a tree: the names of their fields are those of the structs, and dots between. Each struct
// has a line, and its fields are below that, indented.
function describe(item) {
	const lines = linesOf(item);
	if (item.others)
		lines.push(["here", `${item.others} more`]);
	if (item.pixel)
		lines.push(["this pixel", item.pixel]);
	const table = document.createElement("table");
	let open = [];
	for (const [name, text, isNested] of lines) {
		const path = isNested ? name.split(".") : [name];
		let known = 0;
		while (known < path.length - 1 && path[known] === open[known])
			known++;
		open = path.slice(0, -1);
		for (let depth = known; depth < path.length; depth++) {
			const tr = table.insertRow(), cell = tr.insertCell();
			cell.textContent = path[depth];
			cell.style.paddingLeft = depth + "em";
			tr.insertCell().textContent = depth === path.length - 1 ? text : "";
		}
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
	if (item)
		select(item);
});
