# SPDX-License-Identifier: GPL-2.0-only
# How Sphinx renders this directory: make docs.
import itertools
import json

from sphinx.util.docutils import SphinxDirective

project = "user_events"
author = "the user_events project"
extensions = ["sphinx.ext.graphviz"]
graphviz_output_format = "svg"
html_show_copyright = False
html_copy_source = False

# "--option" and quotation marks stay as they are; a literal block is plain text.
smartquotes = False
highlight_language = "none"

html_theme = "furo"
# Debian's furo is dark only if the reader chooses that, unless its colours are here.
html_theme_options = {
    "dark_css_variables": {
        "color-problematic": "#ee5151",
        "color-foreground-primary": "#ffffffcc",
        "color-foreground-secondary": "#9ca0a5",
        "color-foreground-muted": "#81868d",
        "color-foreground-border": "#666666",
        "color-background-primary": "#131416",
        "color-background-secondary": "#1a1c1e",
        "color-background-hover": "#1e2124ff",
        "color-background-hover--transparent": "#1e212400",
        "color-background-border": "#303335",
        "color-background-item": "#444",
        "color-brand-primary": "#2b8cee",
        "color-brand-content": "#368ce2",
        "color-highlighted-background": "#083563",
        "color-highlight-on-target": "#333300",
        "color-card-border": "#1a1c1e",
        "color-card-background": "#18181a",
        "color-card-marginals-background": "#1e2124ff",
    },
}
html_title = "user_events"
html_show_sourcelink = False
# There are no index entries: the search and the table of contents find everything.
html_use_index = False

man_pages = [
    ("user-guide", "user_events", "tracepoints of user programs", "", 7),
    ("tool", "user-events", "show, record and control the events of user programs", "", 1),
    ("admin-guide", "user_events-admin", "the user_events kernel module", "", 8),
]


class Figures(SphinxDirective):
    """``.. figures:: FILE`` shows a baseline of ``make bench``: a table for each unit, then the notes."""
    required_arguments = 1

    def run(self):
        name, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(name)
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        lines = []
        for unit, group in itertools.groupby(rows, lambda row: row["unit"]):
            lines += [".. csv-table::", "   :widths: 70 11 11 8", f"   :header: {unit}, in-tree, ours, ratio", ""]
            lines += [f'   "{row["what"]}", {row["in-tree"]:.0f}, {row["ours"]:.0f}, '
                      f'{row["ours"] / row["in-tree"]:.2f}' for row in group]
            lines.append("")
        lines += [f'* {row["what"]}: {row["note"]}.' for row in rows if row["note"]]
        self.state_machine.insert_input(lines, path)
        return []


def setup(app):
    app.add_directive("figures", Figures)
