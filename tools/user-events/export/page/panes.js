
// Handles between panes, which the mouse and the arrow keys move.

const leastPane = 60, paneStep = 24;

function makeHandle(handle) {
	const pane = $(handle.dataset.pane), isHigh = handle.getAttribute("aria-orientation") === "horizontal";
	// A pane below its handle grows when the handle moves up.
	const sign = isHigh ? -1 : 1, most = () => (isHigh ? innerHeight : innerWidth) * .8;
	const size = () => isHigh ? pane.offsetHeight : pane.offsetWidth;
	const resizeTo = pixels => {
		const next = Math.round(Math.min(Math.max(pixels, leastPane), most()));
		pane.style[isHigh ? "height" : "width"] = next + "px";
		pane.style.flex = "none";
		handle.setAttribute("aria-valuenow", next);
	};
	let start = null;
	handle.setAttribute("aria-valuenow", size());
	handle.addEventListener("pointerdown", event => {
		start = {at: isHigh ? event.clientY : event.clientX, size: size()};
		handle.setPointerCapture(event.pointerId);
	});
	handle.addEventListener("pointermove", event => {
		if (start)
			resizeTo(start.size + sign * ((isHigh ? event.clientY : event.clientX) - start.at));
	});
	for (const end of ["pointerup", "pointercancel"])
		handle.addEventListener(end, () => { start = null; });
	handle.addEventListener("keydown", event => {
		const direction = (isHigh ? {ArrowUp: 1, ArrowDown: -1} : {ArrowRight: 1, ArrowLeft: -1})[event.key];
		if (!direction)
			return;
		resizeTo(size() + direction * paneStep);
		event.preventDefault();
	});
}

for (const handle of document.querySelectorAll("[role=separator]"))
	makeHandle(handle);
new ResizeObserver(() => requestAnimationFrame(drawLines)).observe(list);
