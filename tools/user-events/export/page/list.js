
// The records in view as a list, in step with the picture. Only those that are seen have elements.

const lineHeight = 20;
// Browsers limit the height of an element. With more records, the scroll bar stands for parts.
const mostHeight = 8e6;
const list = $("list");
let passed = new Uint32Array(0);
// The part of `passed` that is in view.
let listed = {from: 0, to: 0};

function findPassed() {
	passed = new Uint32Array(passing);
	let used = 0;
	for (let row = 0; row < total; row++)
		if (passes[row])
			passed[used++] = row;
}

const listHeight = () => Math.min((listed.to - listed.from) * lineHeight, mostHeight);
const scrollable = () => Math.max(listHeight() - list.clientHeight, 1);
const lines = () => Math.ceil(list.clientHeight / lineHeight);
const mostTop = () => Math.max(listed.to - listed.from - Math.floor(list.clientHeight / lineHeight), 0);
// The first line that is seen, as a place in `listed`.
const topLine = () => Math.round(list.scrollTop / scrollable() * mostTop());

function scrollToLine(line) {
	list.scrollTop = Math.min(Math.max(line, 0), mostTop()) / Math.max(mostTop(), 1) * scrollable();
}

function lineOf(at) {
	const row = passed[at], line = document.createElement("div");
	const event = head.events[eventOf[row]], task = head.tasks[taskOf[row]];
	line.id = "line-" + row;
	line.dataset.row = row;
	line.setAttribute("role", "option");
	line.setAttribute("aria-selected", selected !== null && rowNumber(selected) === row);
	const without = new Set(stackField(head.events[eventOf[row]]) ? ["stack"] : []);
	const fields = fieldLines(row, "", without).map(([name, text]) => `${name}=${text}`).join(" ");
	for (const text of [clock(time[row]).slice(-18), task.place, event.name, fields])
		line.append(Object.assign(document.createElement("span"), {textContent: text}));
	line.classList.toggle("severe", severe[row] === 1);
	return line;
}

function drawLines() {
	const top = topLine(), shown = [];
	for (let i = top; i <= top + lines() && listed.from + i < listed.to; i++)
		shown.push(lineOf(listed.from + i));
	$("lines").style.transform = `translateY(${list.scrollTop}px)`;
	$("lines").replaceChildren(...shown);
	const active = selected && shown.find(line => Number(line.dataset.row) === rowNumber(selected));
	if (active)
		list.setAttribute("aria-activedescendant", active.id);
	else
		list.removeAttribute("aria-activedescendant");
}

// After the picture has changed.
function drawList() {
	const [from, to] = x.domain(), at = d3.bisector(row => time[row]);
	const before = passed[listed.from + topLine()];
	const next = {from: at.left(passed, from), to: at.right(passed, to)};
	const hasMoved = next.from !== listed.from || next.to !== listed.to;
	listed = next;
	$("list-space").style.height = listHeight() + "px";
	// The line at the top stays there as long as it is in view.
	if (hasMoved)
		scrollToLine(d3.bisectLeft(passed, before ?? 0) - listed.from);
	$("in-view").textContent = (listed.to - listed.from).toLocaleString("en");
	drawLines();
}

function showLine(row) {
	const line = d3.bisectLeft(passed, row) - listed.from, top = topLine();
	if (line < top || line >= top + lines() - 1)
		scrollToLine(line - Math.floor(lines() / 2));
}

list.addEventListener("scroll", () => requestAnimationFrame(drawLines));
list.addEventListener("click", event => {
	const line = event.target.closest("[data-row]");
	if (line)
		show(itemOf(Number(line.dataset.row)));
});
list.addEventListener("keydown", event => {
	const direction = {ArrowDown: 1, ArrowUp: -1}[event.key];
	if (direction) {
		step(direction, () => true);
		event.preventDefault();
	}
});
