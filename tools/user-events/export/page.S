/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the page that export/html.cpp writes. D3 is the file of a package. */

.macro embed name, file
	.global page_\name, page_\name\()_end
page_\name:
	.incbin "\file"
page_\name\()_end:
.endm

	.section .rodata
	embed html, "export/page/page.html"
	embed css, "export/page/page.css"

	/* One program: names of a file are used in others, and the files run in this order. */
	.global page_js, page_js_end
page_js:
	.irp file, data, async, severity, filter, canvas, palette, rows, times, density, gaps, draw, view, \
		record, selection, flows, list, measure, panes, flame, statistics, legend, row_choice, address, keys, start
	.incbin "export/page/\file\().js"
	.endr
page_js_end:

	embed d3, D3
	.section .note.GNU-stack, "", @progbits
