# SPDX-License-Identifier: GPL-2.0-only
# How Sphinx renders this directory: make docs.

project = "user_events"
author = "the user_events project"
html_show_copyright = False
html_copy_source = False

# Included by performance.rst.
exclude_patterns = ["performance-table*.rst"]

# "--option" and quotation marks stay as they are; a literal block is plain text.
smartquotes = False
highlight_language = "none"

html_theme_options = {
    "description": "user_events for kernels that were built without it",
    "page_width": "1080px",
    "font_family": "sans-serif",
    "fixed_sidebar": True,
}

man_pages = [
    ("user-guide", "user_events", "tracepoints of user programs", "", 7),
    ("tool", "user-events", "show, record and control the events of user programs", "", 1),
    ("admin-guide", "user_events-admin", "the user_events kernel module", "", 8),
]
