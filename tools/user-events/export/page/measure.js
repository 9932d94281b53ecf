
// Two marks, A and B, and what is between them; and a part of the time that is dragged out to be zoomed to.

const marks = {A: null, B: null};
let pointerAt = NaN, dragged = null;

// At the mouse; or at what is selected; or in the middle.
function setMark(name) {
	const [from, to] = x.domain();
	marks[name] = Number.isFinite(pointerAt) ? x.invert(pointerAt) : selected ? timesOf(selected)[name === "A" ? 0 : 1]
		: (from + to) / 2;
	showMeasure();
}

function clearMarks() {
	marks.A = marks.B = null;
	showMeasure();
}

function showMeasure() {
	const both = marks.A !== null && marks.B !== null, [from, to] = d3.extent([marks.A, marks.B]);
	const at = d3.bisector(row => time[row]);
	const count = both ? at.right(passed, to) - at.left(passed, from) : 0;
	$("measure").hidden = marks.A === null && marks.B === null;
	$("measure").textContent = both ? `A–B ${span(to - from, 6)}, ${count.toLocaleString("en")} records`
		: marks.A !== null ? `A ${clock(marks.A)}` : marks.B !== null ? `B ${clock(marks.B)}` : "";
	requestDraw();
}

function drawMarks() {
	context.save();
	context.font = "600 " + font;
	for (const [name, at] of Object.entries(marks)) {
		const left = at === null ? -1 : Math.round(x(at));
		if (left < margin || left > width)
			continue;
		context.fillStyle = palette.text;
		context.fillRect(left, 0, 1, height);
		context.fillRect(left, height - 18, 16, 18);
		context.fillStyle = palette.ground;
		context.fillText(name, left + 4, height - 9);
	}
	if (dragged) {
		const [left, right] = d3.extent([dragged.from, dragged.to]);
		context.globalAlpha = .2;
		context.fillStyle = palette.text;
		context.fillRect(left, 0, right - left, height);
		context.globalAlpha = 1;
		context.fillText(span(x.invert(right) - x.invert(left)), left + 4, height - 9);
	}
	context.restore();
}

// Dragging on the axis, or on the picture with Shift, zooms to what was dragged over.
function beginDrag(event) {
	const left = event.clientX - canvas.getBoundingClientRect().left;
	if (event.button !== 0 || left < margin || (event.currentTarget === canvas && !event.shiftKey))
		return;
	dragged = {from: left, to: left};
	event.currentTarget.setPointerCapture(event.pointerId);
	event.preventDefault();
}

function moveDrag(event) {
	if (!dragged)
		return;
	dragged.to = Math.min(Math.max(event.clientX - canvas.getBoundingClientRect().left, margin), width);
	requestDraw();
}

function endDrag(event) {
	if (!dragged)
		return;
	const [left, right] = d3.extent([dragged.from, dragged.to]);
	dragged = null;
	if (event.type === "pointerup" && right - left > 3)
		showTimes(x.invert(left), x.invert(right));
	requestDraw();
}

for (const element of [canvas, $("axis")]) {
	element.addEventListener("pointerdown", beginDrag);
	element.addEventListener("pointermove", moveDrag);
	element.addEventListener("pointerup", endDrag);
	element.addEventListener("pointercancel", endDrag);
}
canvas.addEventListener("pointermove", event => { pointerAt = event.offsetX >= margin ? event.offsetX : NaN; });
canvas.addEventListener("pointerleave", () => { pointerAt = NaN; });
