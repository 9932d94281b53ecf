
// Rows that stay at the top, and rows that are hidden. The dialog has a line for each row.

function chooseRows() {
	const table = document.createElement("table");
	for (const {id, label, process} of allRows) {
		const line = table.insertRow(), name = `${label} (${head.processes[process]})`;
		for (const [set, what, isIn] of [[hiddenRows, "Show", false], [pinnedRows, "Pin", true]]) {
			const box = document.createElement("input"), around = document.createElement("label");
			box.type = "checkbox";
			box.checked = set.has(id) === isIn;
			box.setAttribute("aria-label", `${what} ${name}`);
			box.addEventListener("change", () => {
				set[box.checked === isIn ? "add" : "delete"](id);
				makeRows();
				requestDraw();
			});
			around.append(box, " " + what);
			line.insertCell().append(around);
		}
		line.insertCell().textContent = name;
	}
	$("row-list").replaceChildren(table);
	$("row-choice").showModal();
}

$("choose-rows").addEventListener("click", chooseRows);
