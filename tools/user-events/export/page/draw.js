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
