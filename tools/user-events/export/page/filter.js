// The filter: words, all of which have to fit. NAME OP VALUE compares a field; another word is
// looked for in the names of event, task and process, and in all text.

function parse(text) {
	const words = text.match(/[^\s"]*"[^"]*"?|\S+/g) || [];
	return words.map(word => {
		const parts = /^([^=!<>~"]+)(!=|<=|>=|=|<|>|~)(.*)$/.exec(word);
		const bare = s => s.replace(/^"|"$/g, "");
		if (!parts)
			return row => contains(row, bare(word).toLowerCase());
		const [, name, operator, raw] = parts, wanted = bare(raw), number = Number(wanted);
		const compare = found => {
			if (found === null || found === undefined)
				return false;
			const isNumber = typeof found !== "string" && wanted !== "" && !Number.isNaN(number);
			const a = isNumber ? Number(found) : String(found), b = isNumber ? number : wanted;
			switch (operator) {
			case "=": return a === b;
			case "!=": return a !== b;
			case "<": return a < b;
			case ">": return a > b;
			case "<=": return a <= b;
			case ">=": return a >= b;
			default: return String(found).includes(wanted);
			}
		};
		return row => compare(named(row, name));
	});
}

function named(row, name) {
	const event = head.events[eventOf[row]], task = head.tasks[taskOf[row]];
	const field = event.fields.find(field => field.name === name);
	if (field)
		return value(row, field);
	switch (name) {
	case "event": return event.name;
	case "task": return task.name;
	case "host": return task.host;
	case "pid": return task.pid - task.distance;
	case "process": return task.process - task.distance;
	case "cpu": return cpuOf[row];
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
let passing = total;

function applyFilter() {
	const tests = parse($("filter").value.trim());
	passing = 0;
	for (let row = 0; row < total; row++) {
		passes[row] = head.events[eventOf[row]].shown && tests.every(test => test(row)) ? 1 : 0;
		passing += passes[row];
	}
	findPassed();
	makeRows();
	showMeasure();
	draw();
	drawHistograms();
	showCount();
}

function showCount() {
	const digits = number => number.toLocaleString("en");
	$("count").textContent = `${digits(passing)} of ${digits(total)} records`;
}
