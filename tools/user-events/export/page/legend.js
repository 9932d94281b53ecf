
// The legend shows and hides events and the names of slices.

const mostNames = 24;
const hiddenNames = new Set();

function swatch(draw) {
	const box = document.createElement("canvas"), ratio = window.devicePixelRatio || 1, own = box.getContext("2d");
	box.width = box.height = 12 * ratio;
	box.setAttribute("aria-hidden", "true");
	own.scale(ratio, ratio);
	draw(own);
	return box;
}

function legendButton(list, text, draw, isShown, set) {
	const button = document.createElement("button"), item = document.createElement("li");
	button.type = "button";
	button.setAttribute("aria-pressed", isShown);
	button.append(swatch(draw), text);
	button.addEventListener("click", () => {
		const shown = button.getAttribute("aria-pressed") !== "true";
		button.setAttribute("aria-pressed", shown);
		set(shown);
		applyFilter();
	});
	item.append(button);
	list.append(item);
}

function makeLegend() {
	$("legend").replaceChildren();
	$("names").replaceChildren();
	head.events.forEach((event, i) => {
		legendButton($("legend"), `${event.name} ${event.count.toLocaleString("en")}`, own => drawShape(i, 6, 6, own),
			event.shown, shown => { event.shown = shown; });
	});
	for (const name of namesByTime.slice(0, mostNames))
		legendButton($("names"), head.strings[name] || "(no name)", own => fillName(name, 0, 1, 12, 10, own),
			!hiddenNames.has(name), shown => { hiddenNames[shown ? "delete" : "add"](name); });
	if (namesByTime.length > mostNames)
		$("names").append(Object.assign(document.createElement("li"),
			{textContent: `and ${namesByTime.length - mostNames} more names of slices`}));
	$("names").hidden = namesByTime.length === 0;
}
