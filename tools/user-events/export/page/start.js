
// Begins, when all of the program is defined.

document.title = $("title").textContent = head.source;
if (head.gapCount) {
	$("lost").textContent = (head.lost ? `${head.lost} records` : "Records") +
		` are missing, in ${head.gapCount} ${head.gapCount === 1 ? "place" : "places"}`;
	$("lost").hidden = false;
}
if (severeCount) {
	$("errors").textContent = `${severeCount.toLocaleString("en")} ${severeCount === 1 ? "error" : "errors"}`;
	$("errors").hidden = false;
	$("errors").addEventListener("click", () => step(1, row => severe[row]));
}
makeChoices();
makeHelp();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
	readPalette();
	makeLegend();
	draw();
	drawHistograms();
});
d3.select(canvas).call(zoom);
$("all").addEventListener("click", showAll);
$("scroll").addEventListener("scroll", requestDraw);
$("what").addEventListener("change", drawHistograms);
let typing = 0;
$("filter").addEventListener("input", () => {
	clearTimeout(typing);
	typing = setTimeout(applyFilter, 200);
});
new ResizeObserver(resize).observe($("chart"));
findPassed();
makeRows();
resize();
readAddress();
document.documentElement.dataset.ready = "1";
