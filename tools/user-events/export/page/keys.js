
// The keyboard can do what the mouse can. A key works unless a field for text has the focus.

const keys = [
	["ArrowLeft", "←", "earlier", () => pan(-.2)],
	["ArrowRight", "→", "later", () => pan(.2)],
	["ArrowUp", "↑", "rows above", () => { $("scroll").scrollTop -= 60; }],
	["ArrowDown", "↓", "rows below", () => { $("scroll").scrollTop += 60; }],
	["+", "+", "zoom in", () => zoomBy(1.5)],
	["=", "", "", () => zoomBy(1.5)],
	["-", "−", "zoom out", () => zoomBy(1 / 1.5)],
	["0", "0", "the whole time", showAll],
	["n", "n", "next record that passes the filter", () => step(1)],
	["p", "p", "previous record that passes the filter", () => step(-1)],
	["e", "e", "next error", () => step(1, row => severe[row])],
	["E", "E", "previous error", () => step(-1, row => severe[row])],
	["f", "f", "next slice of the flow", () => stepFlow(1)],
	["F", "F", "previous slice of the flow", () => stepFlow(-1)],
	["t", "t", "choose the rows that are shown and pinned", chooseRows],
	["a", "a", "set mark A", () => setMark("A")],
	["b", "b", "set mark B", () => setMark("B")],
	["x", "x", "remove the marks", clearMarks],
	["z", "z", "zoom to the selected slice", zoomToSelected],
	["/", "/", "go to the filter", () => $("filter").focus()],
	["?", "?", "show the keys", () => $("help").showModal()],
];

// Around what is selected, if it is in view.
function zoomBy(factor) {
	const at = selected ? x(timesOf(selected)[0]) : NaN;
	d3.select(canvas).call(zoom.scaleBy, factor, [at >= margin && at <= width ? at : (margin + width) / 2, 0]);
}

function pan(part) {
	// In the pixels of the whole time.
	d3.select(canvas).call(zoom.translateBy, -part * (width - margin) / d3.zoomTransform(canvas).k, 0);
}

function zoomToSelected() {
	if (!selected)
		return;
	const [from, to] = timesOf(selected), space = Math.max((to - from) / 10, 50);
	showTimes(from - space, to + space);
}

function pressed(event) {
	const isText = event.target.matches("input, select, textarea"), inFilter = event.target === $("filter");
	if (inFilter && event.key === "Enter") {
		applyFilter();
		step(event.shiftKey ? -1 : 1);
	} else if (inFilter && event.key === "Escape") {
		canvas.focus();
	} else if (isText || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) {
		return;
	} else {
		const key = keys.find(([name]) => name === event.key);
		// Arrows scroll what has the focus, and Enter presses a button.
		if (!key || (event.key.startsWith("Arrow") && ![canvas, document.body].includes(event.target)))
			return;
		key[3]();
	}
	event.preventDefault();
}

function makeHelp() {
	const table = document.createElement("table");
	for (const [, shown, what] of keys.filter(([, shown]) => shown)) {
		const row = table.insertRow();
		row.insertCell().append(Object.assign(document.createElement("kbd"), {textContent: shown}));
		row.insertCell().textContent = what;
	}
	$("keys").replaceChildren(table);
	$("show-help").addEventListener("click", () => $("help").showModal());
	document.addEventListener("keydown", pressed);
}
