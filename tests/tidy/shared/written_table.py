"""A table of a page that a program writes."""


def check_table(page, pattern, table, source, command, write):
    """Compares the one part of the page that the pattern finds with the table, and says which command makes it so; with
    `write` the part becomes the table. Returns the exit status of a check."""
    text = page.read_text()
    (written,) = pattern.findall(text)
    if written == table:
        print("the table is up to date")
        return 0
    if write:
        page.write_text(text.replace(written, table))
        return 0
    print(f"{page.name} differs from {source}; {command} makes it:\n{table}")
    return 1
