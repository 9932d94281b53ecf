
// The record or slice that is kept: what a click or a key has chosen.

let selected = null;

const sliceOf = new Uint32Array(total).fill(none);
for (let i = 0; i < slices.begin.length; i++)
	for (const row of [slices.begin[i], slices.end[i]])
		if (row !== none)
			sliceOf[row] = i;

// A record that begins or ends a slice stands for the slice.
const itemOf = row => sliceOf[row] === none ? {record: row, others: 0} : {record: row, slice: sliceOf[row], others: 0};
const rowNumber = item => item.record ?? slices.begin[item.slice];

// The row of the picture that has the item, and the height of the item in it.
function placeOf(item) {
	if (item.slice !== undefined) {
		const row = trackRows[slices.track[item.slice]];
		return {row, y: row.y + row.lanesTop + slices.depth[item.slice] * laneHeight};
	}
	const counter = d3.bisectLeft(counters.row, item.record);
	const row = counters.row[counter] === item.record ? trackRows[counters.track[counter]] : threadRows[taskOf[item.record]];
	return {row, y: row.y};
}

function timesOf(item) {
	return item.slice === undefined ? [time[item.record], time[item.record]]
		: [slices.from[item.slice], slices.to[item.slice]];
}

function select(item) {
	selected = item;
	$("record").replaceChildren(describe(item));
	const what = item.slice === undefined ? "e" + eventOf[item.record] : "s" + slices.name[item.slice];
	if (item.slice === undefined || [...$("what").options].some(option => option.value === what))
		$("what").value = what;
	$("say").textContent = linesOf(item).map(([name, text]) => `${name} ${text}`).join(", ");
	showLine(rowNumber(item));
	requestDraw();
	requestHistograms();
}

function unselect() {
	selected = null;
	$("record").textContent = "Click a record or a slice to keep it here.";
	requestDraw();
}

// Selects it, and moves the picture if it is not in view.
function show(item) {
	const [from, to] = x.domain(), [begin, end] = timesOf(item);
	if (end < from || begin > to)
		showTimes(begin - (to - from) / 2, begin + (to - from) / 2);
	const {row, y} = placeOf(item), scroll = $("scroll");
	if (row.y !== undefined && !row.isPinned && (y < scroll.scrollTop + pinnedBottom || y + laneHeight > scroll.scrollTop + height))
		scroll.scrollTop = Math.max(y - height / 2, 0);
	select(item);
}

// The end of a slice is passed with its beginning.
const isOwn = row => sliceOf[row] === none || slices.end[sliceOf[row]] !== row || !passes[slices.begin[sliceOf[row]]];

// Selects the next record, or the one before, that passes the filter and the test.
function step(direction, test = isOwn) {
	const start = selected ? rowNumber(selected) + direction
		: direction > 0 ? d3.bisectLeft(time, x.domain()[0]) : d3.bisectRight(time, x.domain()[1]) - 1;
	for (let row = start; row >= 0 && row < total; row += direction)
		if (passes[row] && test(row))
			return show(itemOf(row));
	$("say").textContent = direction > 0 ? "There is no later one." : "There is no earlier one.";
}

const isHidden = item => item.slice === undefined ? !passes[item.record] : hiddenNames.has(slices.name[item.slice]) ||
	(!passes[slices.begin[item.slice]] && (slices.end[item.slice] === none || !passes[slices.end[item.slice]]));

function drawSelected() {
	if (!selected || isHidden(selected))
		return;
	const {row, y} = placeOf(selected), [from, to] = timesOf(selected), left = x(from);
	const top = topOf(row) + y - row.y;
	if (row.y === undefined || to < timeAt(margin) || left > width)
		return;
	context.save();
	context.beginPath();
	context.rect(margin, stripHeight, width - margin, height);
	context.clip();
	context.strokeStyle = palette.text;
	context.lineWidth = 2;
	if (selected.slice === undefined)
		context.strokeRect(left - 4, top, 9, row.values ? curveHeight : row.markHeight + barHeight + 1);
	else
		context.strokeRect(left, top, Math.max(x(to) - left, 3), sliceHeight);
	context.setLineDash([2, 3]);
	context.lineWidth = 1;
	context.strokeRect(Math.round(left) + .5, 0, 0, height);
	context.restore();
}
