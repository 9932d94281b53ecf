
// What is in each pixel of a row: a pixel can stand for one record or for a million.

// The time at which a pixel begins.
const timeAt = pixel => x.invert(pixel);

// How many of the times are in each pixel from `left` to `right`. Few are counted one by one; for many,
// the first one of each pixel is looked for, which takes as long for a million as for a thousand.
function countPixels(times, left, right) {
	const counts = new Uint32Array(Math.max(right - left, 0));
	let at = d3.bisectLeft(times, timeAt(left));
	const end = d3.bisectLeft(times, timeAt(right), at);
	if (end - at < 4 * counts.length) {
		const from = timeAt(left), perTime = counts.length / (timeAt(right) - from);
		for (; at < end; at++)
			counts[Math.min(Math.floor((times[at] - from) * perTime), counts.length - 1)]++;
		return counts;
	}
	for (let i = 0; i < counts.length && at < end; i++) {
		const next = d3.bisectLeft(times, timeAt(left + i + 1), at, end);
		counts[i] = next - at;
		at = next;
	}
	return counts;
}

// The counts of each event of a row, and their sums.
function densityOf(row, left, right) {
	const counts = row.events.map(({times}) => countPixels(times, left, right));
	const sums = new Uint32Array(Math.max(right - left, 0));
	for (const each of counts)
		for (let i = 0; i < sums.length; i++)
			sums[i] += each[i];
	return {counts, sums, most: d3.max(sums) || 0};
}

// Divides `height` pixels among parts in proportion, but none gets less than `least` as long as there is
// room. The first part, the most frequent one, gives what the others need.
function share(parts, height, least) {
	const sum = d3.sum(parts);
	const pixels = parts.map(part => part ? Math.max(Math.round(height * part / sum), least) : 0);
	let left = height;
	for (let i = parts.length - 1; i >= 0; i--) {
		const isFirst = parts.slice(0, i).every(part => !part);
		pixels[i] = parts[i] && isFirst ? left : Math.min(pixels[i], left);
		left -= pixels[i];
	}
	return pixels;
}

// Pixels apart that a record has to be from others to be drawn as a shape.
const shapeSpace = 5;
const barHeight = 22, leastBar = 4, leastPart = 2;

function isAlone(sums, i) {
	for (let j = Math.max(i - shapeSpace, 0); j <= Math.min(i + shapeSpace, sums.length - 1); j++)
		if (j !== i && sums[j])
			return false;
	return sums[i] === 1;
}

// A bar for each pixel, as high as records are many, in the parts of the events: rare ones on top.
function drawDensity(row, bottom) {
	const left = margin, {counts, sums, most} = densityOf(row, left, width);
	for (let i = 0; i < sums.length; i++) {
		if (!sums[i])
			continue;
		const parts = counts.map(each => each[i]);
		if (isAlone(sums, i)) {
			drawShape(row.events[parts.indexOf(1)].event, left + i + .5, bottom - 6);
			continue;
		}
		const present = d3.sum(parts, part => part ? 1 : 0);
		const tall = Math.min(Math.max(Math.round(barHeight * sums[i] / most), leastBar, present * leastPart), barHeight);
		let y = bottom;
		share(parts, tall, leastPart).forEach((pixels, j) => {
			context.fillStyle = colour(row.events[j].event);
			context.fillRect(left + i, y - pixels, 1, pixels);
			y -= pixels;
		});
	}
	row.most = most;
}

// A triangle above each pixel with a severe record.
const markHeight = 7;

function drawSevere(row, top) {
	const times = row.severe;
	context.fillStyle = palette.severe;
	for (let i = d3.bisectLeft(times, timeAt(margin)); i < times.length;) {
		const pixel = Math.floor(x(times[i]));
		if (pixel > width)
			break;
		context.beginPath();
		context.moveTo(pixel - 3, top);
		context.lineTo(pixel + 4, top);
		context.lineTo(pixel + .5, top + markHeight);
		context.fill();
		i = Math.max(i + 1, d3.bisectLeft(times, timeAt(pixel + 1), i));
	}
}

// Slices that are narrower than this are drawn as the part of the time that they take of a pixel.
const narrow = 3;
const sliceHeight = laneHeight - 2, leastCover = 5;

// Adds a narrow slice to the pixels that it touches.
function cover(pixels, name, from, to) {
	for (let i = Math.floor(from); i <= Math.floor(to); i++) {
		if (i < margin || i > width || (i === to && to > from))
			continue;
		const part = Math.max(Math.min(to, i + 1) - Math.max(from, i), 1e-9);
		const names = pixels[i] = pixels[i] || new Map();
		names.set(name, (names.get(name) || 0) + part);
	}
}

function drawCover(names, pixel, y) {
	const parts = [...names].sort((a, b) => b[1] - a[1]);
	const covered = Math.min(d3.sum(parts, part => part[1]), 1);
	const tall = Math.min(Math.max(Math.round(sliceHeight * covered), leastCover, parts.length * leastPart), sliceHeight);
	let bottom = y + sliceHeight;
	share(parts.map(part => part[1]), tall, leastPart).forEach((pixels, i) => {
		context.fillStyle = nameColour(parts[i][0]);
		context.fillRect(pixel, bottom - pixels, 1, pixels);
		bottom -= pixels;
	});
}

function drawLane(lane, y) {
	const pixels = [], to = timeAt(width + 1);
	let last = -Infinity, lastRight = -Infinity;
	for (let i = d3.bisectLeft(lane.reach, timeAt(margin)); i < lane.slices.length && lane.from[i] <= to; i++) {
		const from = x(lane.from[i]), until = x(lane.to[i]);
		if (until - from < narrow) {
			cover(pixels, lane.name[i], from, until);
			continue;
		}
		const left = Math.round(Math.max(from, margin - 1)), right = Math.round(Math.min(until, width + 1));
		// In the last lane slices can lie on each other, any number of them.
		if (left === last && right <= lastRight)
			continue;
		drawSlice(lane, i, left, right, y);
		last = left;
		lastRight = right;
	}
	pixels.forEach((names, pixel) => drawCover(names, pixel, y));
}

function drawSlice(lane, i, left, right, y) {
	const name = head.strings[lane.name[i]] || "", wide = right - left;
	// A gap tells neighbours apart.
	fillName(lane.name[i], left, y, Math.max(wide - 1, 1), sliceHeight);
	if (wide <= 24)
		return;
	const text = slices.end[lane.slices[i]] === none ? name + " (no end)" : name;
	const fits = Math.floor((wide - 8) / 6.5);
	context.fillStyle = textOn(nameColour(lane.name[i]));
	context.fillText(text.length > fits ? text.slice(0, fits - 1) + "…" : text, left + 4, y + laneHeight / 2 - 1);
}
