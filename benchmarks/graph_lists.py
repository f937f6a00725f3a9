"""The graphs of choices, and those of reports.

Members of the default, their settings and its rules are chosen on validation nodes of DEVELOPMENT alone.
Nothing is chosen by REPORT.
"""

DEVELOPMENT = ("cora", "citeseer", "squirrel_filtered", "tolokers")
REPORT = ("pubmed", "amazon_photo", "coauthor_cs", "dblp", "wordnet30_synsets", "minesweeper", "debian")
