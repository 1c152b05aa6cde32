#!/usr/bin/env python3
"""zh_page.py ZH EN...: compares a Chinese page with the English pages that have the same content.

- Every command of ZH is in one of the EN, and every command of the EN is in ZH. The order may differ. Commands are the "$ " lines of
  console blocks, and the lines of other code blocks that begin with a program of PROGRAMS, without the comment behind them.
- Files that a page shows (```python train.py) are the same but for their comments.
- Punctuation next to a Chinese character is Chinese, outside of code.

Prints every fault as page: text and ends with status 1 if there is one."""
import re
import sys

import page

PROGRAMS = "skiff fleetrun make python python3 pip mpirun srun sbatch git apt".split()
ASSIGNMENT = re.compile(r"(?:[A-Z]\w*=(?:\"[^\"]*\"|\S*) +)*")
COMMENT = re.compile(r"\s+# .*")
HAN = "[\u4e00-\u9fff]"
HALF_WIDTH = re.compile("%s ?[,;:!?]|[,;:!?]%s|%s\\(|\\)%s" % (HAN, HAN, HAN, HAN))


def indented(path):
    """Lines of code blocks without a fence."""
    fenced, blank, inside = False, True, False
    for line in open(path, encoding="utf-8").read().split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        inside = not fenced and line.startswith("    ") and (blank or inside)
        if inside:
            yield line
        blank = not line.strip()


def plain(command):
    return " ".join(COMMENT.sub("", command.replace("\\\n", " ")).split())


def commands_of(path):
    """All commands, and the files that the page shows, as texts."""
    found, lines = set(), list(indented(path))
    for word, name, block, first in page.blocks(path):
        if name:
            found.add("\n".join(["file " + name] + [COMMENT.sub("", line) for line in block]))
        elif word == "console":
            found.update(plain(command) for command, _, _ in page.commands(block, first))
        else:
            lines += block
    for line in lines:
        command = plain(line)
        program = command[ASSIGNMENT.match(command).end():].split(" ")[0]
        if program in PROGRAMS:
            found.add(command)
    return found


def half_width(path):
    """Lines with Western punctuation next to a Chinese character."""
    fenced = False
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if line.startswith("```"):
            fenced = not fenced
        text = re.sub(r"`[^`]*`", "x", line)
        text = re.sub(r"\]\([^()]*\)", "]", text)
        if not fenced and not line.startswith("    ") and HALF_WIDTH.search(text):
            yield "line %d: Western punctuation next to a Chinese character: %s" % (number, HALF_WIDTH.search(text).group(0))


def main():
    chinese, english = sys.argv[1], sys.argv[2:]
    there, faults = commands_of(chinese), []
    originals = set()
    for path in english:
        commands = commands_of(path)
        originals |= commands
        faults += ["%s: not in %s: %s" % (path, chinese, command.split("\n")[0]) for command in sorted(commands - there)]
    faults += ["%s: not in %s: %s" % (chinese, ", ".join(english), command.split("\n")[0]) for command in sorted(there - originals)]
    faults += ["%s: %s" % (chinese, text) for text in half_width(chinese)]
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(1)
    print("%s: %d commands and files, as in %s" % (chinese, len(there), ", ".join(english)))


if __name__ == "__main__":
    main()
