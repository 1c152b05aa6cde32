#!/usr/bin/env python3
"""page.py PAGE [--files]: runs what a page of docs shows, in the current folder.

A code block ```csv people.csv is written to that file. In a block ```console every line that begins with "$ " is run by bash
and must end with status 0 (a line that ends with \\ goes on); what stands below it is its standard output: words and whole
numbers as they are, numbers with a point within 0.03, a line "..." for any lines. What no two runs share (times, speeds, the
number of the best epoch) is left out of the comparison. The folder is called /home/you in pages. --files: only writes files.
Prints how many commands were run; status 1 when one was not as shown."""
import os
import re
import subprocess
import sys

HERE = os.getcwd()
UNLIKE = [  # pattern, what both sides get instead
    (r"using time: [\d.]+ second, ips: \d+", "using time"),
    (r"^( +\d+\*? +\d+) +\d+ ", r"\1 "),  # samples a second, in tables
    (r" +\d+ %", ""),  # shares of time
    (r"\d+ samples/s|[\d.]+ s\b", ""),
    (r"^( +)(\d+)\*", r"\1\2"),
    (r"(best epoch: )\d+", r"\1"),
    (r"(/model\S*)/\d+$", r"\1"),
    (r" +", " "),
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


def alike(shown, seen):
    for pattern, text in UNLIKE:
        shown, seen = re.sub(pattern, text, shown), re.sub(pattern, text, seen)
    shown, seen = (re.split(r"(\d+(?:\.\d+)?)", line.strip()) for line in (shown, seen))
    if len(shown) != len(seen):
        return False
    for a, b in zip(shown, seen):
        real = re.fullmatch(r"\d+\.\d+", a) and re.fullmatch(r"\d+(\.\d+)?", b)
        if abs(float(a) - float(b)) > 0.03 if real else a != b:
            return False
    return True


def unlike(shown, seen):
    """The first shown line that is not seen, or None."""
    at, skip = 0, False
    for line in shown:
        if line.strip() == "...":
            skip = True
            continue
        while skip and at < len(seen) and not alike(line, seen[at]):
            at += 1
        if at == len(seen) or not alike(line, seen[at]):
            return line
        at, skip = at + 1, False
    return None if at == len(seen) or skip else "(nothing more)"


def run(command, shown, number, page):
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = done.stdout.replace(HERE, "/home/you")
    while shown and not shown[-1]:
        shown.pop()
    wrong = "status %d" % done.returncode if done.returncode else None
    if not wrong and shown:
        line = unlike(shown, out.rstrip("\n").split("\n"))
        wrong = "it does not print: " + line if line is not None else None
    if not wrong:
        return True
    print("%s:%d: $ %s\n%s; it printed:\n%s%s" % (page, number, command, wrong, out, done.stderr))
    return False


def main():
    page, files_only = sys.argv[1], "--files" in sys.argv
    count, good = 0, True
    for word, name, lines, first in blocks(page):
        if name:
            with open(name, "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in lines))
        elif word == "console" and not files_only:
            for command, shown, number in commands(lines, first):
                count += 1
                good = run(command, shown, number, page) and good
    if not files_only:
        print("%s: %d commands" % (os.path.basename(page), count))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
