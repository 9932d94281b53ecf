// Times. The axis shows them from the beginning of the recording.

const plain = value => String(+Number(value).toPrecision(6));

const unitOf = ns => ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];

function span(ns, digits = 4) {
	const [unit, name] = unitOf(Math.abs(ns));
	return +(ns / unit).toPrecision(digits) + " " + name;
}

function clock(ns) {
	const start = BigInt(head.start);
	const exact = start + BigInt(Math.round(ns)), seconds = exact / 1000000000n;
	const rest = String(exact % 1000000000n).padStart(9, "0");
	return head.wall_clock
		? new Date(Number(seconds) * 1000).toLocaleString("sv") + "." + rest
		: seconds + "." + rest;
}

// The labels of ticks, which are `step` apart: with as many decimals as they need to be different.
function tickLabels(ticks, step) {
	const [unit, name] = unitOf(Math.max(...ticks.map(Math.abs)));
	const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-6));
	return ticks.map(tick => `${(tick / unit).toFixed(decimals)} ${name}`);
}

// As many ticks as have room for their labels.
function ticksInView() {
	const widest = labels => Math.max(...labels.map(label => context.measureText(label).width)) + 16;
	context.font = axisFont;
	for (let count = Math.max(2, width / 90);; count *= .75) {
		const ticks = x.ticks(count), step = ticks.length > 1 ? ticks[1] - ticks[0] : x.domain()[1] - x.domain()[0];
		const labels = tickLabels(ticks, step), apart = x(step) - x(0);
		if (ticks.length <= 2 || widest(labels) <= apart)
			return {ticks, labels};
	}
}

const axisFont = "10px sans-serif";

function drawAxis({ticks, labels}) {
	const [from, to] = x.domain();
	const isInside = (tick, i) => x(tick) + context.measureText(labels[i]).width / 2 <= width;
	context.font = axisFont;
	const shown = labels.map((label, i) => isInside(ticks[i], i) ? label : "");
	d3.select("#axis").attr("width", width).call(d3.axisTop(x).tickValues(ticks)
		.tickFormat((_, i) => shown[i])).selectAll(".domain").remove();
	d3.select("#axis").selectAll("g").attr("transform", function () {
		return this.getAttribute("transform").replace(/,0\)/, ",22)");
	});
	$("range").textContent = `${clock(from)} + ${span(to - from)}`;
}
