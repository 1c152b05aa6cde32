"""DataFeedDesc: the slots of a data file, read from a text like that of Dataset.desc()."""
import re

from paddle import _names

_TOKEN = re.compile(r'\s*(?:#[^\n]*\n\s*)*([A-Za-z_]\w*|"(?:[^"\\]|\\.)*"|[-+]?[\d.]+(?:[eE][-+]?\d+)?|[{}:])')


def _tokens(text, path):
    at, out = 0, []
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise ValueError("%s: line %d: cannot be read: %r" % (path, text.count("\n", 0, at) + 1, text[at:at + 20].strip()))
        out.append(found.group(1))
        at = found.end()
    return out


def _message(tokens, path, inner):
    """[(field, value)] up to the closing brace."""
    fields = []
    while tokens:
        name = tokens.pop(0)
        if name == "}" and inner:
            return fields
        mark = tokens.pop(0) if tokens else ""
        if mark == "{":
            fields.append((name, _message(tokens, path, True)))
        elif mark == ":" and tokens:
            fields.append((name, tokens.pop(0)))
        else:
            raise ValueError("%s: %r is followed by %r; a colon or a brace is expected" % (path, name, mark))
    if inner:
        raise ValueError("%s: a closing brace is missing" % path)
    return fields


def _text(fields, indent=""):
    lines = []
    for name, value in fields:
        lines += ["%s%s {" % (indent, name)] + _text(value, indent + "  ") + [indent + "}"] if isinstance(value, list) \
            else ["%s%s: %s" % (indent, name, value)]
    return lines


class DataFeedDesc(object):
    """The description in a file; slots become dense or used by name."""

    def __init__(self, proto_file):
        with open(proto_file) as source:
            self._fields = _message(_tokens(source.read(), proto_file), proto_file, False)
        self._set(self._fields, "pipe_command", '"cat"')
        self._slots = {}
        for name, value in self._fields:
            for field, slot in value if name == "multi_slot_desc" else ():
                if field == "slots":
                    self._slots[dict(slot).get("name", '""').strip('"')] = slot

    @staticmethod
    def _set(fields, name, value):
        for i, (field, _) in enumerate(fields):
            if field == name:
                fields[i] = (name, value)
                return
        fields.append((name, value))

    def _mark(self, names, field, where):
        if dict(self._fields).get("name") != '"MultiSlotDataFeed"':
            raise ValueError("Only MultiSlotDataFeed need %s, please check your datafeed.proto" % where)
        for name in names:
            if name not in self._slots:
                raise ValueError("%s: there is no slot %r; there are %s" % (where, name, ", ".join(sorted(self._slots))))
            self._set(self._slots[name], field, "true")

    def set_batch_size(self, batch_size):
        """Lines of a batch."""
        self._set(self._fields, "batch_size", str(int(batch_size)))

    def set_dense_slots(self, dense_slots_name):
        """These slots hold as many numbers in every line."""
        self._mark(dense_slots_name, "is_dense", "set_dense_slots")

    def set_use_slots(self, use_slots_name):
        """These slots are given to the network."""
        self._mark(use_slots_name, "is_used", "set_use_slots")

    def desc(self):
        """The description as text."""
        return "\n".join(_text(self._fields)) + "\n"


__getattr__ = _names.guard(__name__)
