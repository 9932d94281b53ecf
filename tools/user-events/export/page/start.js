// The legend hides and shows events.

function makeLegend() {
	head.events.forEach((event, i) => {
		const button = document.createElement("button"), box = document.createElement("i");
		button.type = "button";
		box.style.background = colour(i);
		button.append(box, `${event.name} ${event.count.toLocaleString("en")}`);
		button.addEventListener("click", () => {
			event.shown = !event.shown;
			button.classList.toggle("off", !event.shown);
			applyFilter();
		});
		$("legend").append(button);
		$("what").append(new Option(event.name, "e" + i));
	});
	for (const name of new Set(slices.name))
		$("what").append(new Option(`duration of ${head.strings[name] || "slices"}`, "s" + name));
}

// Begin with an event that has numbers.
const first = head.events.findIndex(event => event.fields.some(field => field.isNumber));
document.title = $("title").textContent = head.source;
if (head.gapCount) {
	$("lost").textContent = (head.lost ? `${head.lost} records` : "Records") +
		` are missing, in ${head.gapCount} ${head.gapCount === 1 ? "place" : "places"}`;
	$("lost").hidden = false;
}
makeLegend();
if (first > 0)
	$("what").value = "e" + first;
d3.select(canvas).call(zoom);
$("all").addEventListener("click", () => d3.select(canvas).call(zoom.transform, d3.zoomIdentity));
$("scroll").addEventListener("scroll", requestDraw);
$("what").addEventListener("change", drawHistograms);
let typing = 0;
$("filter").addEventListener("input", () => {
	clearTimeout(typing);
	typing = setTimeout(applyFilter, 200);
});
new ResizeObserver(resize).observe($("chart"));
makeRows();
resize();
drawHistograms();
showCount();
document.documentElement.dataset.ready = "1";
