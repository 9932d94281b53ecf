// Zooming and panning. The wheel zooms; dragging moves in both directions.

const zoom = d3.zoom().on("zoom", () => {
	const {transform, sourceEvent} = d3.event;
	x = transform.rescaleX(whole);
	if (sourceEvent && sourceEvent.type === "mousemove")
		$("scroll").scrollTop -= sourceEvent.movementY;
	requestDraw();
}).on("end", () => requestHistograms())
	// With Shift, a part of the time is dragged out.
	.filter(() => !d3.event.ctrlKey && !d3.event.button && (d3.event.type === "wheel" || !d3.event.shiftKey));

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
	// A canvas that is too high would have a scroll bar measured.
	canvas.style.height = 0;
	width = $("scroll").clientWidth;
	height = $("scroll").clientHeight;
	margin = width < narrowWindow ? narrowMargin : wideMargin;
	canvas.dataset.margin = margin;
	canvas.width = width * ratio;
	canvas.height = height * ratio;
	canvas.style.width = width + "px";
	canvas.style.height = height + "px";
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	whole.range([margin, width - 10]);
	zoom.extent([[margin, 0], [width - 10, height]]).translateExtent([[margin, 0], [width - 10, height]])
		.scaleExtent([1, Math.max(1, lastTime / 100)]);
	// What was in view stays in view.
	const [from, to] = x.domain();
	x = d3.zoomTransform(canvas).rescaleX(whole);
	showTimes(from, to);
	draw();
}

function showTimes(from, to) {
	const k = Math.min(Math.max((lastTime || 1) / (to - from), 1), zoom.scaleExtent()[1]), middle = (from + to) / 2;
	const left = middle - (lastTime || 1) / k / 2;
	d3.select(canvas).call(zoom.transform, d3.zoomIdentity.translate(margin - k * whole(left), 0).scale(k));
	// Within the limits.
	d3.select(canvas).call(zoom.translateBy, 0, 0);
}

function showAll() {
	d3.select(canvas).call(zoom.transform, d3.zoomIdentity);
}
