// The filter: that of `user-events report`. A word without a comparison is looked for in the names of
// event, task and process, and in all text; && may be left out. `=` means `==`.

const placeNames = ["event", "task", "COMM", "comm", "host", "pid", "common_pid", "process", "cpu", "CPU", "common_cpu", "system"];

// Returns a function of a row. Throws a text that says what is wrong.
function parse(text) {
	let rest = text.trimStart();
	const take = pattern => {
		const found = pattern.exec(rest);
		rest = rest.slice(found ? found[0].length : 0).trimStart();
		return found;
	};
	const word = () => {
		const found = take(/^(?:"([^"]*)"|'([^']*)'|([^\s()|&"']+))/);
		return found && (found[1] ?? found[2] ?? found[3]);
	};
	function either() {
		let result = all();
		while (take(/^\|\|/)) {
			const left = result, right = all();
			result = row => left(row) || right(row);
		}
		return result;
	}
	function all() {
		let result = single();
		while (take(/^&&/) || (rest && !/^(\)|\|\|)/.test(rest))) {
			const left = result, right = single();
			result = row => left(row) && right(row);
		}
		return result;
	}
	function single() {
		if (take(/^!(?![=~])/)) {
			const of = single();
			return row => !of(row);
		}
		if (take(/^\(/)) {
			const of = either();
			if (!take(/^\)/))
				throw "a ) is missing";
			return of;
		}
		const comparison = take(/^([\w.]+)\s*(==|!=|<=|>=|=~|!~|=|<|>|~|&(?!&))/), wanted = word();
		if (wanted === null || wanted === undefined)
			throw comparison ? `nothing to compare ${comparison[1]} with` : `what is “${rest}”?`;
		if (!comparison)
			return row => contains(row, wanted.toLowerCase());
		requireField(comparison[1]);
		const test = toComparison(comparison[2], wanted);
		return row => {
			const found = named(row, comparison[1]);
			return found !== null && found !== undefined && test(found);
		};
	}
	const result = rest ? either() : () => true;
	if (rest)
		throw `what is “${rest}”?`;
	return result;
}

function toComparison(operator, wanted) {
	const number = Number(wanted), isNumber = wanted !== "" && !Number.isNaN(number);
	if (["<", ">", "<=", ">=", "&"].includes(operator) && !isNumber)
		throw `${operator} compares with a number`;
	let pattern = null;
	if (operator === "=~" || operator === "!~") {
		try {
			pattern = new RegExp(wanted, "i");
		} catch {
			throw `“${wanted}” is no regular expression`;
		}
	} else if (operator === "~") {
		pattern = new RegExp("^" + wanted.replace(/^!/, "").replace(/[.+^${}()|\\]/g, "\\$&")
			.replace(/\[\\\^/g, "[^").replace(/\*/g, ".*").replace(/\?/g, ".") + "$", "s");
	}
	const isNot = operator === "!~" || (operator === "~" && wanted.startsWith("!"));
	return found => {
		if (pattern)
			return pattern.test(String(found)) !== isNot;
		const asNumbers = typeof found !== "string" && isNumber;
		const a = asNumbers ? Number(found) : String(found), b = asNumbers ? number : wanted;
		switch (operator) {
		case "!=": return a !== b;
		case "<": return asNumbers && a < b;
		case ">": return asNumbers && a > b;
		case "<=": return asNumbers && a <= b;
		case ">=": return asNumbers && a >= b;
		case "&": return asNumbers && (BigInt(Math.trunc(a)) & BigInt(Math.trunc(b))) !== 0n;
		default: return a === b;
		}
	};
}

const isNamed = (field, name) => field.name === name || field.name.endsWith("." + name);

function requireField(name) {
	const names = [...new Set(head.events.flatMap(event => event.fields.map(field => field.name)))];
	if (placeNames.includes(name) || names.some(each => isNamed({name: each}, name)))
		return;
	const [nearest] = [...names, ...placeNames].map(each => [distance(name, each), each]).sort((a, b) => a[0] - b[0]);
	throw `no event has a field ${name}` + (nearest[0] < name.length / 3 + 2 ? `: did you mean ${nearest[1]}?` : "");
}

// How many characters have to be added, removed or replaced.
function distance(a, b) {
	let row = d3.range(b.length + 1);
	for (let i = 0; i < a.length; i++) {
		const next = [i + 1];
		for (let j = 0; j < b.length; j++)
			next.push(Math.min(row[j] + (a[i] === b[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1));
		row = next;
	}
	return row[b.length];
}

function named(row, name) {
	const event = head.events[eventOf[row]], task = head.tasks[taskOf[row]];
	const field = event.fields.find(field => isNamed(field, name));
	if (field)
		return value(row, field);
	switch (name) {
	case "event": return event.name;
	case "task": case "COMM": case "comm": return task.name;
	case "host": return task.host;
	case "pid": case "common_pid": return task.pid - task.distance;
	case "process": return task.process - task.distance;
	case "cpu": case "CPU": case "common_cpu": return cpuOf[row];
	case "system": return event.system;
	}
	return undefined;
}

function contains(row, word) {
	const event = head.events[eventOf[row]], task = head.tasks[taskOf[row]];
	return event.lower.includes(word) || task.lower.includes(word) ||
		event.fields.some(field => !field.isNumber &&
			String(value(row, field)).toLowerCase().includes(word));
}
for (const named of [...head.events, ...head.tasks])
	named.lower = named.name.toLowerCase();

const passes = new Uint8Array(total).fill(1);
let passing = total, passesFilter = () => true;

// A filter that cannot be read leaves what is shown as it was.
function applyFilter() {
	let mistake = "";
	try {
		passesFilter = parse($("filter").value);
	} catch (error) {
		if (typeof error !== "string")
			throw error;
		mistake = error;
	}
	$("filter").setAttribute("aria-invalid", mistake ? "true" : "false");
	passing = 0;
	for (let row = 0; row < total; row++) {
		passes[row] = head.events[eventOf[row]].shown && passesFilter(row) ? 1 : 0;
		passing += passes[row];
	}
	findPassed();
	makeRows();
	showMeasure();
	draw();
	drawHistograms();
	showCount();
	if (mistake)
		$("count").textContent = mistake;
}

function showCount() {
	const digits = number => number.toLocaleString("en");
	$("count").textContent = `${digits(passing)} of ${digits(total)} records`;
}
