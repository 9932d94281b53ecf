
// Records that tell of an error. The picture marks them at every zoom. What a payload says of its
// level counts; the name of the event counts only if its payload says nothing.

// What the names of levels begin with.
const isSevereLevel = name => head.errors.some(error => name.toLowerCase().startsWith(error));
const severeWords = new Set(["error", "errors", "fail", "failed", "failure", "fatal", "panic", "crash", "crashed"]);
// The events of the library's log<> have the levels of syslog(), those of its sink for spdlog, with
// a field "logger", have spdlog's.
const isSyslogError = level => level <= 3, isSpdlogError = level => level >= 4;

function wordsOf(name) {
	return name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z]+/);
}

// Returns a function of a row, or null if no record of the event is severe.
function severeTest(event) {
	const field = name => event.fields.find(field => field.name === name);
	const level = field("level") || field("severity");
	if (level && !level.isNumber)
		return row => isSevereLevel(String(value(row, level)));
	if (level && ["text", "line", "function", "file"].every(field)) {
		const isError = field("logger") ? isSpdlogError : isSyslogError;
		return row => isError(Number(value(row, level) ?? NaN));
	}
	return wordsOf(event.name).some(word => severeWords.has(word)) ? () => true : null;
}

const severe = new Uint8Array(total);
let severeCount = 0;
for (const event of head.events) {
	const test = severeTest(event);
	if (test)
		for (const row of event.rows)
			severeCount += severe[row] = test(row) ? 1 : 0;
}
