// Distributions of what is shown and passes the filter. What people look for comes first: how long
// something took. Numbers that only name something come last.

const durationWords = /(^|_)(duration|latency|elapsed|took|wait|waited|waiting|delay|age|time|ns|us|ms|nsec|usec|msec|nanoseconds|seconds)$/i;
const nameWords = /(^|_|\.)(id|ids|number|no|nr|pid|tid|tgid|seq|sequence|line|flow|cookie|address|addr|ptr|handle|fd|version|tag|key|hash|port)$/i;
const importance = name => durationWords.test(name) ? 0 : nameWords.test(name) ? 3 : 1;

function percentile(sorted, part) {
	return sorted[Math.min(Math.ceil(sorted.length * part), sorted.length) - 1];
}

// `values` are sorted.
function histogram(title, values, formatValue, fill) {
	// Axes pass more arguments.
	const format = value => formatValue(value);
	const figure = document.createElement("figure"), caption = document.createElement("figcaption");
	const name = document.createElement("b");
	figure.dataset.count = values.length;
	figure.dataset.name = title;
	name.textContent = title;
	caption.append(name, values.length === 0 ? ": none" : `: ${values.length} values, ` +
		`${format(values[0])} … ${format(percentile(values, .5))} … ${format(values[values.length - 1])}`);
	figure.append(caption);
	if (values.length === 0)
		return figure;
	const more = document.createElement("figcaption");
	more.textContent = [50, 90, 95, 99].map(each => `p${each} ${format(percentile(values, each / 100))}`).join(", ");
	figure.append(more, drawBins(values, format, fill));
	return figure;
}

function drawBins(values, format, fill) {
	const w = 300, h = 90, least = values[0], most = values[values.length - 1];
	const across = d3.scaleLinear().domain(least === most ? [least - .5, least + .5] : [least, most]).range([8, w - 8]);
	const edges = [across.domain()[0], ...across.ticks(40).filter(tick => tick > least && tick < most), across.domain()[1]];
	const bins = d3.pairs(edges).map(([from, to], i) => ({from, to, count: (i === edges.length - 2 ? values.length
		: d3.bisectLeft(values, to)) - d3.bisectLeft(values, from)}));
	const up = d3.scaleLinear().domain([0, d3.max(bins, bin => bin.count)]).range([h - 20, 4]);
	const svg = d3.create("svg").attr("width", w).attr("viewBox", [0, 0, w, h]).attr("role", "img")
		.attr("aria-label", `${bins.length} bars`);
	svg.selectAll("rect").data(bins).enter().append("rect").attr("fill", fill)
		.attr("x", bin => across(bin.from)).attr("width", bin => Math.max(1, across(bin.to) - across(bin.from) - 1))
		// What is there is seen.
		.attr("y", bin => bin.count ? Math.min(up(bin.count), h - 22) : h - 20)
		.attr("height", bin => bin.count ? h - 20 - Math.min(up(bin.count), h - 22) : 0)
		.append("title").text(bin => `${format(bin.from)} to ${format(bin.to)}: ${bin.count}`);
	// Where values are closer than their text tells, one label stands for them.
	const ticks = least === most ? [least] : across.ticks(4).filter((tick, i, all) => !i || format(tick) !== format(all[i - 1]));
	svg.append("g").attr("transform", `translate(0,${h - 20})`)
		.call(d3.axisBottom(across).tickValues(ticks).tickFormat(format));
	return svg.node();
}

// The values for rows, those that are numbers, sorted.
function sortedValues(count, valueOf) {
	const values = new Float64Array(count);
	let used = 0;
	for (let i = 0; i < count; i++) {
		const found = valueOf(i);
		if (Number.isFinite(found))
			values[used++] = found;
	}
	return values.subarray(0, used).sort();
}

// Of the rows of an event, those that are shown.
function rowsInView(event) {
	const [from, to] = x.domain(), found = new Uint32Array(event.rows.length);
	let used = 0;
	for (const row of event.rows)
		if (passes[row] && time[row] >= from && time[row] <= to)
			found[used++] = row;
	return found.subarray(0, used);
}

function eventFigures(number) {
	const event = head.events[number], rows = rowsInView(event);
	const ofField = field => ({rank: importance(field.name), make: () => histogram(field.name,
		sortedValues(rows.length, i => {
			const found = value(rows[i], field);
			return found === null ? NaN : Number(found);
		}), plain, colour(number))});
	const between = {rank: 2, make: () => histogram("time between", sortedValues(rows.length,
		i => i ? time[rows[i]] - time[rows[i - 1]] : NaN), span, colour(number))};
	return [...event.fields.filter(field => field.isNumber).map(ofField), between]
		.sort((a, b) => a.rank - b.rank).map(figure => figure.make())
		.concat(stackField(event) ? flameFigure(rows, () => 1, count => `${count.toLocaleString("en")} records`) : []);
}

function sliceFigures(name) {
	const [from, to] = x.domain(), found = [], timeOf = new Map();
	for (let i = 0; i < slices.begin.length; i++)
		if (slices.name[i] === name && slices.end[i] !== none && slices.from[i] <= to &&
			slices.to[i] >= from && (passes[slices.begin[i]] || passes[slices.end[i]])) {
			found.push(slices.to[i] - slices.from[i]);
			timeOf.set(slices.begin[i], slices.to[i] - slices.from[i]);
		}
	const hasStacks = [...timeOf.keys()].some(row => stackField(head.events[eventOf[row]]));
	return [histogram("duration", sortedValues(found.length, i => found[i]), span, nameColour(name)),
		...hasStacks ? [flameFigure(timeOf.keys(), row => timeOf.get(row), time => span(time))] : []];
}

function drawHistograms() {
	const chosen = $("what").value, number = Number(chosen.slice(1));
	$("histograms").replaceChildren(...!chosen ? [] : chosen[0] === "e" ? eventFigures(number) : sliceFigures(number));
}

// What has distributions: slices by the time that they take, then events. Begin with the slices, or
// with an event that has a duration, or at least a number.
function makeChoices() {
	for (const name of namesByTime.slice(0, 1000))
		$("what").append(new Option(`duration of ${head.strings[name] || "slices"}`, "s" + name));
	head.events.forEach((event, i) => $("what").append(new Option(event.name, "e" + i)));
	const best = event => !event.rows.length ? 5
		: d3.min(event.fields.filter(field => field.isNumber), field => importance(field.name)) ?? 4;
	const event = d3.scan(head.events, (a, b) => best(a) - best(b));
	const ended = new Set(slices.name.filter((name, i) => slices.end[i] !== none));
	const slice = namesByTime.slice(0, 1000).find(name => ended.has(name));
	if (slice !== undefined)
		$("what").value = "s" + slice;
	else if (event !== undefined)
		$("what").value = "e" + event;
}
