
// Flame graphs of the stacks that records have: a bar for each function, below the one that called it.
// Its width is its part of the records, or of the time of the slices that begin with them.

const flameRow = 18, flameLeast = 1;
const stackField = event => event.hasStack ? event.fields[event.fields.length - 1] : null;
// `cook+0x1f (/usr/bin/orders)` is a place in the function `cook`.
const functionOf = frame => frame.replace(/\+0x[0-9a-f]+( \(.*\))?$/, "") || frame;

function flameTree(rows, weightOf) {
	const root = {name: "all", place: "all", weight: 0, children: new Map()};
	for (const row of rows) {
		const field = stackField(head.events[eventOf[row]]), text = field && value(row, field);
		if (!text)
			continue;
		const weight = weightOf(row);
		let node = root;
		root.weight += weight;
		for (const frame of text.split(";")) {
			const name = functionOf(frame);
			if (!node.children.has(name))
				node.children.set(name, {name, place: frame, weight: 0, children: new Map()});
			node = node.children.get(name);
			node.weight += weight;
		}
	}
	return root;
}

function hueOf(name) {
	let sum = 0;
	for (let i = 0; i < name.length; i++)
		sum = (sum * 31 + name.charCodeAt(i)) >>> 0;
	return palette.colours[sum % 8];
}

// The bars of a tree that are wide enough to be seen.
function flameBars(root, wide) {
	const bars = [], place = (node, left, width, depth) => {
		bars.push({node, left, width, depth});
		let at = left;
		for (const child of [...node.children.values()].sort((a, b) => b.weight - a.weight)) {
			const part = width * child.weight / node.weight;
			if (part >= flameLeast)
				place(child, at, part, depth + 1);
			at += part;
		}
	};
	place(root, 0, wide, 0);
	return bars;
}

function flameFigure(rows, weightOf, format) {
	const whole = flameTree(rows, weightOf);
	const figure = document.createElement("figure"), caption = document.createElement("figcaption");
	const name = document.createElement("b"), svg = d3.create("svg");
	figure.className = "flame";
	figure.dataset.name = "stacks";
	name.textContent = "stacks";
	caption.append(name, whole.weight ? `: ${format(whole.weight)}. A click on a function shows only what it calls.` : ": none");
	figure.append(caption);
	if (!whole.weight)
		return figure;
	const draw = root => {
		const wide = Math.max($("histograms").clientWidth, 280), bars = flameBars(root, wide);
		svg.attr("width", wide).attr("height", (d3.max(bars, bar => bar.depth) + 1) * flameRow)
			.attr("role", "group").attr("aria-label", "Flame graph");
		const choose = node => draw(node === root ? whole : node);
		svg.selectAll("*").remove();
		const part = svg.selectAll("g").data(bars).enter().append("g").attr("role", "button").attr("tabindex", 0)
			.attr("transform", bar => `translate(${bar.left},${bar.depth * flameRow})`)
			.attr("aria-label", bar => `${bar.node.name} ${format(bar.node.weight)}`)
			.on("click", bar => choose(bar.node))
			.on("keydown", bar => {
				if (d3.event.key === "Enter")
					choose(bar.node);
			});
		part.append("rect").attr("width", bar => Math.max(bar.width - 1, flameLeast)).attr("height", flameRow - 1)
			.attr("fill", bar => hueOf(bar.node.name));
		part.append("title").text(bar => `${bar.node.place}: ${format(bar.node.weight)}, ` +
			`${(100 * bar.node.weight / whole.weight).toFixed(1)} %`);
		// Seven pixels a character; what is cut off is in the title.
		part.filter(bar => bar.width > 28).append("text").attr("x", 3).attr("y", flameRow - 6)
			.attr("fill", bar => textOn(hueOf(bar.node.name)))
			.text(bar => {
				const room = Math.floor((bar.width - 6) / 7);
				return bar.node.name.length > room ? bar.node.name.slice(0, room - 1) + "…" : bar.node.name;
			});
	};
	draw(whole);
	figure.append(svg.node());
	return figure;
}
