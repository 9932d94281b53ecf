// The page that `user-events export --format html` makes. The data is in the element "head", JSON, and
// in elements of the class "block": the columns of some 65,000 records, compressed and in Base64. All
// text of the recording reaches the document as text, never as HTML.

const $ = id => document.getElementById(id);
const none = 0xffffffff;
const head = JSON.parse($("head").textContent);
// In a page of several machines, "distance" was added to the numbers of one, so that all are different.
for (const task of head.tasks) {
	task.label = `${task.name} ${task.pid - task.distance}`;
	task.place = (task.host ? task.host + ": " : "") + task.label;
}
const arrays = {u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array,
	s64: BigInt64Array, u64: BigUint64Array};
const widths = Object.keys(arrays);
const readers = {u8: "getUint8", u16: "getUint16", u32: "getUint32", f64: "getFloat64",
	s64: "getBigInt64", u64: "getBigUint64"};
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

// Numbers in a block are little-endian, whatever the machine.
function numbers(data, offset, c) {
	if (isLittleEndian)
		return new arrays[c.type](data, offset, c.length);
	const result = new arrays[c.type](c.length);
	const view = new DataView(data, offset), read = view[readers[c.type]];
	for (let i = 0; i < c.length; i++)
		result[i] = read.call(view, i * result.BYTES_PER_ELEMENT, true);
	return result;
}

// A block begins with the length of the JSON that describes it.
async function unpack(element) {
	const binary = atob(element.textContent), packed = new Uint8Array(binary.length);
	for (let i = 0; i < packed.length; i++)
		packed[i] = binary.charCodeAt(i);
	element.remove();
	const data = await new Response(new Blob([packed]).stream()
		.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
	const size = new DataView(data).getUint32(0, true);
	const block = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
	const start = Math.ceil((4 + size) / 8) * 8;
	block.column = c => numbers(data, start + c.offset, c);
	return block;
}
const blocks = [];
for (const element of document.querySelectorAll("script.block"))
	blocks.push(await unpack(element));

// Joins the columns of all blocks. Each block has chosen its type.
function join(columnOf) {
	const parts = blocks.map(block => [block, columnOf(block)]).filter(([, c]) => c);
	const type = widths[Math.max(0, ...parts.map(([, c]) => widths.indexOf(c.type)))];
	const result = new arrays[type](parts.reduce((sum, [, c]) => sum + c.length, 0));
	let at = 0;
	for (const [block, c] of parts) {
		const values = block.column(c);
		if (type === c.type || !type.endsWith("64") || type === "f64")
			result.set(values, at);
		else
			values.forEach((value, i) => { result[at + i] = BigInt(value); });
		at += c.length;
	}
	return result;
}

// Texts have a number in each block; here they get one for all.
head.strings = [];
const stringNumbers = new Map();
for (const block of blocks)
	block.numbers = block.strings.map(text => {
		if (!stringNumbers.has(text)) {
			stringNumbers.set(text, head.strings.length);
			head.strings.push(text);
		}
		return stringNumbers.get(text);
	});
function joinStrings(columnOf) {
	const result = new Uint32Array(blocks.reduce((sum, block) => sum + (columnOf(block)?.length || 0), 0));
	let at = 0;
	for (const block of blocks)
		if (columnOf(block))
			for (const number of block.column(columnOf(block)))
				result[at++] = block.numbers[number];
	return result;
}

// The time since the record before, a BigInt if one is longer than 4 s.
// Loops: from() with a function takes ten times as long.
function mapped(Type, list, of) {
	const result = new Type(list.length);
	for (let i = 0; i < result.length; i++)
		result[i] = of(list[i]);
	return result;
}
const time = mapped(Float64Array, join(block => block.time), Number);
for (let row = 1; row < time.length; row++)
	time[row] += time[row - 1];
const eventOf = join(block => block.event), taskOf = join(block => block.task);
const cpuOf = join(block => block.cpu);
const total = time.length;
const lastTime = total ? time[total - 1] : 0;
const slices = {begin: join(block => block.slices.begin), end: join(block => block.slices.end),
	track: join(block => block.slices.track), depth: join(block => block.slices.depth),
	name: joinStrings(block => block.slices.name)};
slices.from = mapped(Float64Array, slices.begin, row => time[row]);
slices.to = mapped(Float64Array, slices.end, row => row === none ? lastTime : time[row]);
const counters = {row: join(block => block.counters.row), track: join(block => block.counters.track)};

// Records that are drawn as a slice or as the value of a counter.
const inTrack = new Uint8Array(total);
for (const rows of [slices.begin, slices.end, counters.row])
	for (const row of rows)
		if (row !== none)
			inTrack[row] = 1;

// The place of each record in the columns of its event.
const place = new Uint32Array(total);
head.events.forEach((event, i) => {
	event.rows = new Uint32Array(event.count);
	event.used = 0;
	event.shown = true;
	event.fields.forEach((field, j) => {
		const part = block => block.events[i]?.[j];
		field.values = (field.isNumber ? join : joinStrings)(block => part(block)?.column);
		field.missing = new Set();
		let at = 0;
		for (const block of blocks) {
			for (const absent of part(block)?.absent || [])
				field.missing.add(at + absent);
			at += part(block)?.column.length || 0;
		}
	});
});
for (let row = 0; row < total; row++) {
	const event = head.events[eventOf[row]];
	place[row] = event.used;
	event.rows[event.used++] = row;
}

function value(row, field) {
	const at = place[row];
	if (field.missing.has(at))
		return null;
	return field.isNumber ? field.values[at] : head.strings[field.values[at]];
}
