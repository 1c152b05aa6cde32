"""The three messages that files of tree indexes are made of: IndexNode, TreeMeta, KVItem (proto2)."""
import struct

from paddle import _names


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number is cut off")
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value & (1 << 64) - 1, at


#: how a kind of field is written: wire type, to bytes, from what was read
_KINDS = {
    "uint64": (0, _varint, int),
    "int32": (0, _varint, lambda v: v - (1 << 64) if v >> 63 else v),
    "bool": (0, lambda v: _varint(int(v)), bool),
    "float": (5, lambda v: struct.pack("<f", v), lambda v: struct.unpack("<f", v)[0]),
    "string": (2, lambda v: v.encode(), lambda v: v.decode()),
    "bytes": (2, lambda v: v, bytes),
}


class _Message(object):
    """FIELDS: (name, kind, value when it is not there, whether it must be), numbered from 1."""

    FIELDS = ()

    def __init__(self, **values):
        for name, _, default, _ in self.FIELDS:
            object.__setattr__(self, name, default)
        object.__setattr__(self, "_set", set())
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        kinds = {field[0]: field[1] for field in self.FIELDS}
        if name not in kinds:
            raise AttributeError("%s has no field %s" % (type(self).__name__, name))
        if kinds[name] == "bytes" and isinstance(value, str):
            value = value.encode()
        wanted = {"string": str, "bytes": bytes, "float": (int, float)}.get(kinds[name], int)
        if not isinstance(value, wanted) and not hasattr(value, "__index__"):
            raise TypeError("%s.%s is %s, but received %s" % (type(self).__name__, name, kinds[name], type(value)))
        object.__setattr__(self, name, value.__index__() if kinds[name] in ("uint64", "int32") else value)
        self._set.add(name)

    def HasField(self, name):
        return name in self._set

    def SerializeToString(self):
        out = b""
        for number, (name, kind, _, required) in enumerate(self.FIELDS, 1):
            if name not in self._set:
                if required:
                    raise ValueError("Message %s is missing required fields: %s" % (type(self).__name__, name))
                continue
            wire, write, _ = _KINDS[kind]
            data = write(getattr(self, name))
            out += _varint(number << 3 | wire) + (_varint(len(data)) if wire == 2 else b"") + data
        return out

    def ParseFromString(self, data):
        """Fills the fields; ValueError when the bytes are no such message. Returns their number."""
        self.__init__()
        at = 0
        while at < len(data):
            key, at = _read_varint(data, at)
            wire, number = key & 7, key >> 3
            if wire == 0:
                value, at = _read_varint(data, at)
            elif wire in (1, 2, 5):
                size = 8
                if wire == 2:
                    size, at = _read_varint(data, at)
                elif wire == 5:
                    size = 4
                value, at = bytes(data[at:at + size]), at + size
            else:
                raise ValueError("%s: unknown wire type %d" % (type(self).__name__, wire))
            if at > len(data):
                raise ValueError("%s: field %d is cut off" % (type(self).__name__, number))
            if 1 <= number <= len(self.FIELDS) and _KINDS[self.FIELDS[number - 1][1]][0] == wire:
                name, kind = self.FIELDS[number - 1][:2]
                setattr(self, name, _KINDS[kind][2](value))
        missing = [name for name, _, _, required in self.FIELDS if required and name not in self._set]
        if missing:
            raise ValueError("%s is missing required fields: %s" % (type(self).__name__, ", ".join(missing)))
        return len(data)


class IndexNode(_Message):
    FIELDS = (("id", "uint64", 0, True), ("is_leaf", "bool", False, True), ("probability", "float", 0.0, True),
              ("item_name", "string", "", False))


class TreeMeta(_Message):
    FIELDS = (("height", "int32", 0, True), ("branch", "int32", 0, True))


class KVItem(_Message):
    FIELDS = (("key", "bytes", b"", True), ("value", "bytes", b"", True))


__getattr__ = _names.guard(__name__)
