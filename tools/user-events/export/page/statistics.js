// Distributions of what is shown and passes the filter.

function histogram(title, values, format, fill) {
	const figure = document.createElement("figure");
	const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
	const caption = document.createElement("figcaption");
	const text = number => format(number);
	figure.dataset.count = sorted.length;
	figure.dataset.name = title;
	caption.textContent = sorted.length === 0 ? `${title}: none` : `${title}: ${sorted.length} values, ` +
		`${text(sorted[0])} … ${text(d3.quantile(sorted, .5))} … ${text(sorted[sorted.length - 1])}`;
	figure.append(caption);
	if (sorted.length === 0)
		return figure;
	const w = 300, h = 90;
	const across = d3.scaleLinear().domain(sorted[0] === sorted[sorted.length - 1]
		? [sorted[0] - .5, sorted[0] + .5] : [sorted[0], sorted[sorted.length - 1]]).range([8, w - 8]);
	const bins = d3.histogram().domain(across.domain()).thresholds(across.ticks(40))(sorted);
	const up = d3.scaleLinear().domain([0, d3.max(bins, bin => bin.length)]).range([h - 20, 4]);
	const svg = d3.select(figure).append("svg").attr("width", w).attr("height", h);
	svg.selectAll("rect").data(bins).enter().append("rect").attr("fill", fill)
		.attr("x", bin => across(bin.x0)).attr("width", bin => Math.max(1, across(bin.x1) - across(bin.x0) - 1))
		.attr("y", bin => up(bin.length)).attr("height", bin => h - 20 - up(bin.length))
		.append("title").text(bin => `${text(bin.x0)} to ${text(bin.x1)}: ${bin.length}`);
	svg.append("g").attr("transform", `translate(0,${h - 20})`).call(d3.axisBottom(across).ticks(4).tickFormat(text));
	return figure;
}

function drawHistograms() {
	const chosen = $("what").value, number = Number(chosen.slice(1)), [from, to] = x.domain();
	const figures = [];
	if (chosen[0] === "e") {
		const event = head.events[number];
		const rows = event.rows.filter(row => passes[row] && time[row] >= from && time[row] <= to);
		for (const field of event.fields)
			if (field.isNumber)
				figures.push(histogram(field.name, Array.from(rows, row => value(row, field))
					.filter(found => found !== null).map(Number), plain, colour(number)));
		figures.push(histogram("time between", Array.from(rows, (row, i) => i ? time[row] - time[rows[i - 1]] : NaN), span,
			colour(number)));
	} else if (chosen[0] === "s") {
		const found = [];
		for (let i = 0; i < slices.begin.length; i++)
			if (slices.name[i] === number && slices.end[i] !== none && slices.from[i] <= to &&
				slices.to[i] >= from && (passes[slices.begin[i]] || passes[slices.end[i]]))
				found.push(slices.to[i] - slices.from[i]);
		figures.push(histogram("duration", found, span, nameColour(number)));
	}
	$("histograms").replaceChildren(...figures);
}
