#!/usr/bin/env python3
"""page.py PAGE [--files | --write]: runs what a page of docs shows, in the current folder.

A code block ```csv people.csv is written to that file. In a block ```console every line that begins with "$ " is run by bash
and must end with status 0 (a line that ends with \\ continues). The lines below it are its standard output, literally; a line
"..." stands for any lines. Only what two runs do not share is masked, on both sides:

- the current folder, which pages call /home/you
- times and speeds: numbers in front of s, ms, second(s), minute(s), samples/s, rows/s, example/sec, and behind "ips:"
- in tables, the columns of times and speeds (COLUMNS): everything between the heading before and the end of their own

--files: only writes the files. --write: writes the output of each command into PAGE instead of comparing it; lines that are
equal but for what is masked stay, and so do lines "..." (`make docs-output` does it for all pages). Prints how many commands were
run; status 1 when one failed, was not as shown, or cannot be written."""
import difflib
import os
import re
import subprocess
import sys

HERE = os.getcwd()
COLUMNS = {"samples/s", "rows/s", "seconds", "read", "compute", "update"}
HEADING = re.compile(r"\S+(?: \S+)*")  # of a column: words with one blank between them
MASKS = [
    (re.compile(r"\bips: [\d.,]+"), "ips: #"),
    (re.compile(r"\b[\d.,]+ (?=(?:samples|rows|examples?)/s)"), "# "),
    (re.compile(r"\b[\d.:]+ (?=(?:ms|s|seconds?|minutes?)\b)"), "# "),
]


def blocks(page):
    """(word, name, lines, number of the first line) of every code block."""
    block = None
    for number, line in enumerate(open(page, encoding="utf-8").read().split("\n"), 1):
        if line.startswith("```"):
            if block:
                yield block
                block = None
            else:
                words = line[3:].split() + ["", ""]
                block = (words[0], words[1], [], number + 1)
        elif block:
            block[2].append(line)


def commands(lines, first):
    """(command, lines of output, line number) of a console block."""
    found = []
    for number, line in enumerate(lines, first):
        if found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], [], number])
        elif found:
            found[-1][1].append(line)
    return found


def spans(line):
    """(begin, end) of the masked columns below a line of headings, or None if it has none."""
    found, before = [], 0
    for heading in HEADING.finditer(line):
        if heading.group() in COLUMNS:
            found.append((before, heading.end()))
        before = heading.end()
    return found or None


def masked(lines):
    """The lines without what two runs do not share."""
    columns, out = None, []
    for line in lines:
        line = line.rstrip()
        here = spans(line)
        if here or not line or line == "...":
            columns = here or (columns if line else None)
        elif columns and all(line[end - 1:end].strip() and not line[end:end + 1].strip() for _, end in columns):
            for begin, end in reversed(columns):  # a row: its values end where their headings end
                line = line[:begin] + "#" + line[end:]
        for pattern, text in MASKS:
            line = pattern.sub(text, line)
        out.append(line)
    return out


def unlike(shown, seen):
    """The first shown line that is not seen, or None."""
    at, skip = 0, False
    texts, seen = masked(shown), masked(seen)
    for line, text in zip(shown, texts):
        if text == "...":
            skip = True
            continue
        while skip and at < len(seen) and text != seen[at]:
            at += 1
        if at == len(seen) or text != seen[at]:
            return line
        at, skip = at + 1, False
    return None if at == len(seen) or skip else "(nothing more)"


def run(command):
    """Runs it; returns (status, lines of output, text of stderr)."""
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = done.stdout.replace(HERE, "/home/you").rstrip("\n")
    return done.returncode, out.split("\n") if out else [], done.stderr


def strip_end(lines):
    while lines and not lines[-1]:
        lines.pop()
    return lines


def check(command, shown, number, page):
    status, seen, errors = run(command)
    strip_end(shown)
    wrong = "status %d" % status if status else None
    if not wrong and shown:
        line = unlike(shown, seen)
        wrong = "it does not print: " + line if line is not None else None
    if not wrong:
        return True
    print("%s:%d: $ %s\n%s; it printed:\n%s\n%s" % (page, number, command, wrong, "\n".join(seen), errors))
    if not status:
        print("make docs-output P=%s writes into the page what the commands print now" % os.path.basename(page))
    return False


# ---- writing ----

def likeness(a, b):
    """How far two lines are the same but for their numbers: 1 for all."""
    a, b = (re.sub(r"[\d.]+", "0", re.sub(r" +", " ", line)) for line in (a, b))
    return 1 if a == b else difflib.SequenceMatcher(None, a, b).ratio()


def place(part, seen, first, last):
    """Where in seen[first..last) the lines `part` are, by likeness; None: nowhere."""
    best, at = 0.6, None
    for begin in range(first, last - len(part) + 1):
        score = sum(likeness(a, b) for a, b in zip(part, seen[begin:])) / len(part)
        if score > best + 1e-9:
            best, at = score, begin
    return at


def rewritten(shown, seen):
    """What the page shows of `seen`, with "..." where it has left out lines so far; None: a line is nowhere."""
    parts = [[]]
    for line in shown:
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return seen
    first, out = 0, []
    for i, part in enumerate(parts):
        if part and i == 0:
            at = 0
        elif part and i == len(parts) - 1:
            at = max(len(seen) - len(part), first)
        else:
            at = place(part, seen, first, len(seen)) if part else first
        if at is None:
            return None
        out += seen[at:at + len(part)] + (["..."] if i < len(parts) - 1 else [])
        first = at + len(part)
    return out


def written(command, shown, number, page):
    """The lines that the page shows from now on, or None after a message."""
    status, seen, errors = run(command)
    blank = len(shown) - len(strip_end(list(shown)))
    shown = strip_end(list(shown))
    new = shown
    if status:
        print("%s:%d: $ %s\nstatus %d\n%s" % (page, number, command, status, errors))
        return None
    if shown and unlike(shown, seen) is not None:
        new = rewritten(shown, seen)
    if new is None or (shown and unlike(new, seen) is not None):
        print("%s:%d: $ %s\na line that is shown has no counterpart; write the block anew. It printed:\n%s"
              % (page, number, command, "\n".join(seen)))
        return None
    stays = dict(zip(masked(shown), shown))
    return [stays.get(text, line.rstrip()) for text, line in zip(masked(new), new)] + [""] * blank


def write_block(page, lines, first):
    """(how many commands, whether all went well, the new lines of the block)."""
    out, good, found = [], True, commands(lines, first)
    for command, shown, number in found:
        new = written(command, shown, number, page)
        good = good and new is not None
        out += ("$ " + command).split("\n") + (shown if new is None else new)
    return len(found), good, out


def main():
    page, mode = sys.argv[1], (sys.argv[2:] + [""])[0]
    text = open(page, encoding="utf-8").read().split("\n")
    count, good, moved = 0, True, 0
    for word, name, lines, first in list(blocks(page)):
        if name:
            with open(name, "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in lines))
        elif word == "console" and mode == "--write":
            n, well, new = write_block(page, lines, first)
            at = first - 1 + moved
            text[at:at + len(lines)] = new
            count, good, moved = count + n, good and well, moved + len(new) - len(lines)
        elif word == "console" and mode != "--files":
            for command, shown, number in commands(lines, first):
                count += 1
                good = check(command, shown, number, page) and good
    if mode == "--write":
        with open(page, "w", encoding="utf-8") as file:
            file.write("\n".join(text))
    if mode != "--files":
        print("%s: %d commands" % (os.path.basename(page), count))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
