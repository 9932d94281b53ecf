
// Colours and shapes. The colours of page.css differ in lightness as well as in hue, so that grey paper
// and eyes that do not tell red from green show them apart; page_test computes how far. Where the eight
// colours repeat, the shapes of events and the patterns of slices differ.

const palette = {};
const patterns = new Map();

function readPalette() {
	const style = getComputedStyle(document.documentElement);
	const of = name => style.getPropertyValue("--" + name).trim();
	palette.colours = d3.range(8).map(i => of("colour-" + i));
	for (const name of ["ground", "side", "process", "line", "text", "quiet", "severe", "lost"])
		palette[name] = of(name);
	patterns.clear();
}
readPalette();

const colour = event => palette.colours[event % 8];

// Slices have colours in the order of their time: those that take most have the most different ones.
const timeOfName = new Map();
for (let i = 0; i < slices.name.length; i++)
	timeOfName.set(slices.name[i], (timeOfName.get(slices.name[i]) || 0) + slices.to[i] - slices.from[i]);
const namesByTime = [...timeOfName.keys()].sort((a, b) => timeOfName.get(b) - timeOfName.get(a));
const rankOfName = new Map(namesByTime.map((name, rank) => [name, rank]));
const nameColour = name => palette.colours[(rankOfName.get(name) || 0) % 8];

function textOn(fill) {
	const {r, g, b} = d3.rgb(fill);
	const linear = [r, g, b].map(c => c / 255 <= .04045 ? c / 255 / 12.92 : ((c / 255 + .055) / 1.055) ** 2.4);
	return .2126 * linear[0] + .7152 * linear[1] + .0722 * linear[2] > .179 ? "#000" : "#fff";
}

// Lines of a pattern, by its kind.
const hatches = {lost: [[0, 8, 8, 0]], 1: [[0, 8, 8, 0]], 2: [[0, 0, 8, 8]], 3: [[0, 0, 8, 8], [0, 8, 8, 0]]};

function hatch(kind, stroke = palette.severe) {
	const key = kind + stroke;
	if (!patterns.has(key)) {
		const tile = document.createElement("canvas");
		tile.width = tile.height = 8;
		const draw = tile.getContext("2d");
		draw.strokeStyle = stroke;
		draw.globalAlpha = .5;
		for (const [x1, y1, x2, y2] of hatches[kind]) {
			draw.moveTo(x1, y1);
			draw.lineTo(x2, y2);
		}
		draw.stroke();
		patterns.set(key, context.createPattern(tile, "repeat"));
	}
	return patterns.get(key);
}

// Fills a part of a slice with the colour and the pattern of its name.
function fillName(name, left, top, wide, tall, context = picture) {
	context.fillStyle = nameColour(name);
	context.fillRect(left, top, wide, tall);
	const kind = Math.floor((rankOfName.get(name) || 0) / 8) % 4;
	if (kind) {
		context.fillStyle = hatch(kind, textOn(nameColour(name)));
		context.fillRect(left, top, wide, tall);
	}
}

const shapes = d3.symbols.map(type => new Path2D(d3.symbol().type(type).size(44)()));
const shapeOf = event => event % shapes.length;

function drawShape(event, centre, middle, context = picture) {
	context.save();
	context.translate(centre, middle);
	context.fillStyle = colour(event);
	context.fill(shapes[shapeOf(event)]);
	context.restore();
}
