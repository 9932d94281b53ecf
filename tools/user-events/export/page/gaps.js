
// Where records are missing: a bar across all rows, and above it how many. Gaps of neighbouring pixels
// are one bar. A label that would lie on the one before is added to it, so that the labels in view have
// the sum of all gaps in view.

const stripHeight = head.gapCount ? 17 : 0;

function lostText(lost, places, unknown) {
	const count = lost ? `${unknown ? "at least " : ""}${lost.toLocaleString("en")} lost` : "lost records";
	return places > 1 ? `${count} (${places.toLocaleString("en")} gaps)` : count;
}

// The gaps in view as bars.
function gapBars() {
	const bars = [], [from, to] = x.domain();
	for (const [since, time, lost, places, unknown] of head.gaps) {
		if (time < from || since > to)
			continue;
		const left = Math.max(margin, Math.floor(x(since))), right = Math.max(Math.min(x(time), width), left + 2);
		const last = bars[bars.length - 1];
		if (last && left <= last.right) {
			last.right = Math.max(last.right, right);
			last.lost += lost;
			last.places += places;
			last.unknown += unknown;
		} else {
			bars.push({left, right, lost, places, unknown});
		}
	}
	return bars;
}

function drawGaps() {
	for (const {left, right} of gapBars()) {
		context.fillStyle = palette.lost;
		context.fillRect(left, 0, right - left, height);
		context.fillStyle = hatch("lost");
		context.fillRect(left, 0, right - left, height);
	}
}

// The labels are on top of the rows, which can be scrolled.
function drawGapLabels() {
	if (!stripHeight)
		return;
	context.fillStyle = palette.side;
	context.fillRect(0, 0, width, stripHeight);
	context.font = font;
	const labels = [];
	const widthOf = label => context.measureText(lostText(label.lost, label.places, label.unknown)).width + 8;
	for (const bar of gapBars()) {
		const last = labels[labels.length - 1];
		if (last && bar.left < last.left + widthOf(last)) {
			last.lost += bar.lost;
			last.places += bar.places;
			last.unknown += bar.unknown;
		} else {
			labels.push({...bar});
		}
	}
	context.fillStyle = palette.severe;
	for (const label of labels) {
		context.fillRect(label.left, 0, 2, stripHeight);
		const left = Math.min(label.left + 4, width - widthOf(label));
		context.fillText(lostText(label.lost, label.places, label.unknown), Math.max(left, margin), stripHeight / 2);
	}
	canvas.dataset.lost = labels.map(label => lostText(label.lost, label.places, label.unknown)).join("; ");
}
