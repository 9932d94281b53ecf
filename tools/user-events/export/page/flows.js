
// Slices that belong together: their field flow_id has the same number, which is not 0. Arrows lead from
// each to the next one: those of the selected slice, and as long as they are few, all that are in view.

const mostArrows = 100;
// With more, only the arrows of the selected slice are looked for.
const mostFlows = 20_000;
const flows = new Map(), flowOf = new Map();

function findFlows() {
	const fields = head.events.map(event => event.fields.find(field => field.name === "flow_id" && field.isNumber));
	if (!fields.some(Boolean))
		return;
	for (let i = 0; i < slices.begin.length; i++) {
		const row = slices.begin[i], field = fields[eventOf[row]];
		const id = field ? String(value(row, field) || 0) : "0";
		if (id === "0")
			continue;
		if (!flows.has(id))
			flows.set(id, []);
		flows.get(id).push(i);
		flowOf.set(i, id);
	}
	for (const flow of flows.values())
		flow.sort((a, b) => slices.from[a] - slices.from[b]);
}
findFlows();

// The arrows of a flow that begin or end in view, as pairs of slices.
function arrowsOf(flow) {
	const isInView = time => x(time) >= margin && x(time) <= width;
	return d3.pairs(flow).filter(([a, b]) => (isInView(slices.from[b]) || isInView(Math.min(slices.to[a], slices.from[b]))) &&
		[a, b].every(slice => placeOf({slice}).row.y !== undefined));
}

function drawArrow([a, b]) {
	const end = slice => {
		const {row, y} = placeOf({slice});
		return topOf(row) + y - row.y + sliceHeight / 2;
	};
	const left = x(Math.min(slices.to[a], slices.from[b])), right = x(slices.from[b]), from = end(a), to = end(b);
	const bend = Math.max((right - left) / 2, 20);
	context.beginPath();
	context.moveTo(left, from);
	context.bezierCurveTo(left + bend, from, right - bend, to, right - 4, to);
	context.stroke();
	context.beginPath();
	context.moveTo(right, to);
	context.lineTo(right - 7, to - 4);
	context.lineTo(right - 7, to + 4);
	context.fill();
}

function drawFlows() {
	const own = selected && selected.slice !== undefined && flows.get(flowOf.get(selected.slice));
	const arrows = own ? arrowsOf(own) : [];
	const others = [];
	for (const flow of flows.size > mostFlows ? [] : flows.values()) {
		if (flow !== own)
			others.push(...arrowsOf(flow));
		if (others.length > mostArrows)
			break;
	}
	context.save();
	context.beginPath();
	context.rect(margin, stripHeight, width - margin, height);
	context.clip();
	context.strokeStyle = context.fillStyle = palette.text;
	context.globalAlpha = .4;
	if (others.length <= mostArrows)
		others.forEach(drawArrow);
	context.globalAlpha = 1;
	context.lineWidth = 2;
	arrows.forEach(drawArrow);
	context.restore();
	canvas.dataset.arrows = arrows.length + (others.length <= mostArrows ? others.length : 0);
}

// Selects the next slice of the flow, or the one before.
function stepFlow(direction) {
	const flow = selected && flows.get(flowOf.get(selected.slice));
	const next = flow && flow[flow.indexOf(selected.slice) + direction];
	if (next === undefined || next === null)
		$("say").textContent = "There is no such slice of the flow.";
	else
		show({slice: next, record: slices.begin[next], others: 0});
}
