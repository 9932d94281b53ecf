
// The part of the page's address behind "#" has what is in view, so that a view can be sent.

const rowSets = [["pin", pinnedRows], ["hide", hiddenRows]];
let addressTimer = 0;

function addressNow() {
	const [from, to] = x.domain(), state = new URLSearchParams();
	if (d3.zoomTransform(canvas).k > 1)
		state.set("time", `${from.toFixed(1)},${to.toFixed(1)}`);
	if (selected)
		state.set("record", rowNumber(selected));
	if ($("filter").value.trim())
		state.set("filter", $("filter").value.trim());
	const hidden = head.events.flatMap((event, i) => event.shown ? [] : [i]);
	if (hidden.length)
		state.set("hidden", hidden.join());
	for (const [name, set] of rowSets)
		if (set.size)
			state.set(name, [...set].join());
	for (const name of Object.keys(marks))
		if (marks[name] !== null)
			state.set(name, marks[name].toFixed(1));
	return String(state);
}

function writeAddress() {
	clearTimeout(addressTimer);
	addressTimer = setTimeout(() => {
		if (addressNow() !== location.hash.slice(1))
			history.replaceState(null, "", "#" + addressNow());
	}, 200);
}

// Whatever the address has: what makes no sense is left out.
function readAddress() {
	const state = new URLSearchParams(location.hash.slice(1));
	const number = text => text === null || text.trim() === "" || !Number.isFinite(Number(text)) ? null : Number(text);
	const hidden = new Set((state.get("hidden") || "").split(",").map(number));
	head.events.forEach((event, i) => { event.shown = !hidden.has(i); });
	$("filter").value = state.get("filter") || "";
	for (const [name, set] of rowSets) {
		set.clear();
		(state.get(name) || "").split(",").filter(Boolean).forEach(id => set.add(id));
	}
	makeLegend();
	applyFilter();
	const [from, to] = (state.get("time") || "").split(",").map(number);
	if (from !== null && to > from)
		showTimes(from, to);
	else
		showAll();
	for (const name of Object.keys(marks))
		marks[name] = number(state.get(name));
	showMeasure();
	const row = number(state.get("record"));
	if (Number.isInteger(row) && row >= 0 && row < total)
		select(itemOf(row));
	else
		unselect();
}

window.addEventListener("hashchange", readAddress);
