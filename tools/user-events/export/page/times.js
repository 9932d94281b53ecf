// Times. The axis shows them from the beginning of the recording.

const plain = value => String(+Number(value).toPrecision(6));

function span(ns, digits = 4) {
	const size = Math.abs(ns);
	const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
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

const tickCount = () => Math.max(2, width / 130);

function drawAxis() {
	const [from, to] = x.domain();
	const precise = Math.max(4, Math.ceil(Math.log10(Math.max(Math.abs(to), 1) / (to - from))) + 3);
	d3.select("#axis").attr("width", width).call(d3.axisTop(x).ticks(tickCount())
		.tickFormat(ns => span(ns, Math.min(precise, 15)))).selectAll(".domain").remove();
	d3.select("#axis").selectAll("g").attr("transform", function () {
		return this.getAttribute("transform").replace(/,0\)/, ",22)");
	});
	$("range").textContent = `${clock(from)} + ${span(to - from)}`;
}
