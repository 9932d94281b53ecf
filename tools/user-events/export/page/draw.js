// Drawing all that is in view.

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
	else if (row.events.length)
		drawDensity(row, y + row.markHeight + barHeight);
	row.lanes.forEach((lane, i) => drawLane(lane, y + row.lanesTop + i * laneHeight));
	drawSevere(row, y);
	context.restore();
}

function drawLabel(row, y) {
	context.save();
	context.beginPath();
	context.rect(0, y, row.isProcess ? width : margin - 8, row.height);
	context.clip();
	context.font = row.isProcess ? "600 " + font : font;
	context.fillStyle = palette.text;
	const middle = y + (row.isProcess ? processHeight : rowHeight) / 2;
	const indent = (row.isProcess ? 12 : 24) / (margin === wideMargin ? 1 : 2);
	context.fillText(context.measureText(row.label).width > margin - 8 - indent && row.short || row.label, indent, middle);
	context.fillStyle = palette.quiet;
	if (row.values) {
		const [least, greatest] = row.scale.domain();
		context.fillText(`${plain(least)} to ${plain(greatest)}`, indent, middle + 15);
	} else if (row.most > 1 && row.height >= 2 * rowHeight - 8) {
		const most = row.most.toLocaleString("en");
		context.fillText(margin === wideMargin ? `up to ${most} a pixel` : `≤ ${most}/px`, indent, middle + 14);
	}
	context.restore();
}

function drawWhole(row, from, to) {
	const y = topOf(row);
	if (y + row.height < 0 || y > height)
		return;
	if (row.isProcess) {
		context.fillStyle = palette.process;
		context.fillRect(0, y, width, row.height - 2);
	} else {
		drawRow(row, y, from, to);
	}
	drawLabel(row, y);
}

function draw() {
	const [from, to] = x.domain();
	context.clearRect(0, 0, width, height);
	context.textBaseline = "middle";
	context.fillStyle = palette.side;
	context.fillRect(0, 0, margin, height);
	context.fillStyle = palette.line;
	const axis = ticksInView();
	for (const tick of axis.ticks)
		context.fillRect(Math.round(x(tick)), 0, 1, height);
	drawGaps();
	for (const isPinned of [false, true]) {
		context.save();
		context.beginPath();
		context.rect(0, isPinned ? 0 : pinnedBottom, width, height);
		context.clip();
		rows.filter(row => Boolean(row.isPinned) === isPinned).forEach(row => drawWhole(row, from, to));
		context.restore();
	}
	context.fillStyle = palette.quiet;
	if (pinnedBottom > stripHeight)
		context.fillRect(0, pinnedBottom - 3, width, 1);
	drawFlows();
	drawSelected();
	drawGapLabels();
	drawMarks();
	drawAxis(axis);
	drawList();
	writeAddress();
	[canvas.dataset.from, canvas.dataset.to] = [from, to];
}
