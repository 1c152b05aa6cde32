#!/usr/bin/env python3
"""gen_layers.py INCLUDE_DIR LAYERS_DIR OUT.c OUT.h: the table of all layers of <skiff/layers.h> (src/layers/table.h): for each
its arguments and a function that calls it. Networks in YAML and the Python bindings are made with it. OUT.h has one line
LAYER(name, signature) for each.

The headers are regular: skiff_layer_<name>(net, required..., const struct skiff_<x>_options *o) and skiff_lr_<name>(...). The C
compiler expands them; what is left is read here with a few patterns. An argument of a type that is not known here is an error:
teach this file the type. Which options tell 0 from "left out" (SKIFF_ZERO) is read from the layers' own source: those that go
through opt_int or opt_float.
"""
import glob
import re
import subprocess
import sys

TYPES = {  # C type -> (enum arg_type, how the value is read from call->a[i])
    "struct skiff_var *": ("ARG_VAR", "c->a[{i}].var"),
    "struct skiff_vars": ("ARG_VARS", "c->a[{i}].vars"),
    "struct skiff_dims": ("ARG_DIMS", "c->a[{i}].dims"),
    "const char *": ("ARG_TEXT", "c->a[{i}].text"),
    "int": ("ARG_INT", "(int)c->a[{i}].i"),
    "int64_t": ("ARG_INT", "c->a[{i}].i"),
    "double": ("ARG_FLOAT", "c->a[{i}].f"),
    "_Bool": ("ARG_BOOL", "c->a[{i}].b"),
    "const struct skiff_param_attr *": ("ARG_PARAM", "c->a[{i}].param"),
    "struct skiff_initializer": ("ARG_INITIALIZER", "c->a[{i}].initializer"),
    "int[2]": ("ARG_PAIR", "{{c->a[{i}].pair[0], c->a[{i}].pair[1]}}"),
    "const double *": ("ARG_DOUBLES", "c->a[{i}].doubles.v"),
    "const int64_t *": ("ARG_LONGS", "c->a[{i}].longs.v"),
    "const void *": ("ARG_ARRAY", "c->a[{i}].array"),
}
WORDS = {"ARG_VAR": "Var", "ARG_VARS": "vars", "ARG_DIMS": "dims", "ARG_TEXT": "str", "ARG_INT": "int", "ARG_FLOAT": "float",
         "ARG_BOOL": "bool", "ARG_PARAM": "ParamAttr", "ARG_INITIALIZER": "Initializer", "ARG_PAIR": "int or (int, int)",
         "ARG_LONGS": "list of int", "ARG_DOUBLES": "list of float", "ARG_ARRAY": "array"}


def declaration(text):
    """ "const char *act" -> ("const char *", "act") """
    text = " ".join(text.split())
    m = re.match(r"^(.*?)(\**)\s*(\w+)\s*(\[\d+\])?$", text)
    base, stars, name, array = m.groups()
    return base.strip() + (" " + stars if stars else "") + (array or ""), name


def fields(body):
    """The fields of a struct: [(type, name)]; "int a, *b[2]" declares two."""
    out = []
    for line in body.split(";"):
        line = " ".join(line.split())
        if not line:
            continue
        first, *more = line.split(",")
        kind, name = declaration(first)
        out.append((kind, name))
        base = re.match(r"^(.*?)[\s*]*\w+\s*(\[\d+\])?$", first).group(1).strip()
        for m in more:
            d = re.match(r"^\s*(\**)\s*(\w+)\s*(\[\d+\])?$", m)
            out.append((base + (" " + d.group(1) if d.group(1) else "") + (d.group(3) or ""), d.group(2)))
    return out


def expand(include):
    source = "#include <skiff/layers.h>\n"
    text = subprocess.run(["gcc", "-E", "-P", "-I" + include, "-x", "c", "-"], input=source, capture_output=True, text=True,
                          check=True).stdout
    return re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", "", re.sub(r'__attribute__\(\(visibility\("default"\)\)\)', "", text))


def zero_names(layers):
    """file text by layer name, and the option names that go through opt_int/opt_float in a piece of code"""
    sources = {path: open(path, encoding="utf-8").read() for path in sorted(glob.glob(layers + "/*.c"))
               if not path.endswith("_test.c")}
    option = re.compile(r"opt_(?:int|float)\(o->(\w+)")
    plain = re.compile(r"opt_(?:int|float)\((\w+),")

    def bodies(text):
        return {m.group(1): m.group(2) for m in re.finditer(r"^[\w\s\*]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", text, re.S | re.M)}

    functions = {path: bodies(text) for path, text in sources.items()}

    def find(name):
        for path, text in sources.items():
            body = functions[path].get(name)
            if body is None:
                continue
            called = [functions[path][f] for f in functions[path] if f != name and re.search(r"\b%s\(" % f, body)]
            code = "\n".join([body] + called)
            return set(option.findall(code)), set(plain.findall(code)), code
        for text in sources.values():  # made by a macro, skiff_layer_elementwise_##name: whatever its file does
            for prefix in re.findall(r"(skiff_layer_\w*)##", text):
                if name.startswith(prefix):
                    return set(option.findall(text)), set(), text
        raise SystemExit("gen_layers: %s is nowhere defined in %s" % (name, layers))

    return find


class Layer:
    def __init__(self, name, c_name, result, params, structs, zeros):
        self.name, self.c_name, self.result, self.structs = name, c_name, result, structs
        self.args, self.call, self.before = [], ["c->net"], []
        self.required, self.outs = 0, None
        option_zeros, plain_zeros, self.source = zeros
        options = None
        i = 0
        while i < len(params):
            kind, label = params[i]
            m = re.match(r"^const struct (skiff_\w+_options) \*$", kind)
            if m:
                options = m.group(1)
                self.call.append("&o")
            elif kind == "struct skiff_var **":
                self.outs = label
                self.call.append("outs")
            elif kind == "int" and i + 1 < len(params) and params[i + 1][0] in ("const int64_t *", "const double *"):
                lists = [p for p in params[i + 1:] if p[0] in ("const int64_t *", "const double *")]
                at = self.add(lists[0][0], lists[0][1], False)
                self.call.append("(int)c->a[%d].%s.n" % (at, "longs" if "int64" in lists[0][0] else "doubles"))
                self.call.append(TYPES[lists[0][0]][1].format(i=at))
                i += 1
            elif kind == "const void *":
                at = self.add(kind, label, False)
                self.call.append(TYPES[kind][1].format(i=at))
            else:
                self.call.append(TYPES[kind][1].format(i=self.add(kind, label, label in plain_zeros)))
            i += 1
        self.positional = self.required = len(self.args)
        while self.required and self.may_be_left_out(*self.args[self.required - 1]):
            self.required -= 1
        if options:
            self.add_options(options, option_zeros)

    @staticmethod
    def may_be_left_out(label, kind, zero, wide):
        return zero or kind in ("ARG_PARAM", "ARG_BOOL") or (kind, label) in (
            ("ARG_TEXT", "name"), ("ARG_VAR", "out"), ("ARG_VAR", "output"))

    def index(self, label):
        return [a[0] for a in self.args].index(label)

    def add(self, kind, label, zero):
        if kind not in TYPES:
            raise SystemExit("gen_layers: %s: argument %s has the type %s, which is not known" % (self.c_name, label, kind))
        self.args.append((label, TYPES[kind][0], zero, kind == "int64_t"))
        return len(self.args) - 1

    def add_options(self, options, zeros):
        parts, has = [], []
        for kind, label in fields(self.structs[options]):
            if label == "reserved":
                continue
            if kind == "struct skiff_var **" and "o->" + label not in self.source:
                continue
            if kind == "_Bool" and label.startswith("has_"):  # said, or told by giving the value
                has.append((label, self.add(kind, label, False)))
                continue
            if kind == "struct skiff_var **":  # where to put one more result
                self.extra = self.add("_Bool", label, False)
                self.before.append("struct skiff_var *extra = NULL;")
                parts.append(".%s = &extra" % label)
                continue
            at = self.add(kind, label, label in zeros)
            parts.append(".%s = %s" % (label, TYPES[kind][1].format(i=at)))
            parts += [".%s = c->given[%d] == ARG_HAS_VALUE ? c->a[%d].b : c->given[%d] == ARG_HAS_VALUE" % (h, said, said, at)
                      for h, said in has if label.startswith(h[4:])]
        self.before.append("struct %s o = {%s};" % (options, ", ".join(parts)))

    extra = None  # the argument that asks for one more result

    def signature(self):
        words = ["net"] + ["%s: %s%s" % (a[0], WORDS[a[1]], "" if i < self.required else " = None")
                           for i, a in enumerate(self.args[:self.positional])]
        rest = ["%s: %s = None" % (a[0], WORDS[a[1]]) for a in self.args[self.positional:]]
        return "%s(%s)" % (self.name, ", ".join(words + (["*"] + rest if rest else [])))

    def code(self):
        call = "%s(%s)" % (self.c_name, ", ".join(self.call))
        kind, names, lines = self.results(call)
        head = ["static const struct layer_arg args_%s[] = {%s};" % (
            self.name, ", ".join('{"%s", %s, %d, %d}' % a for a in self.args) or "{0}")]
        head.append("static void call_%s(struct layer_call *c)\n{" % self.name)
        head += ["    " + line for line in self.before + lines] + ["}"]
        head.append('const struct layer_spec layer_spec_%s = {"%s", "%s", args_%s, %d, %d, %d, %s, {%s}, %d, call_%s};' % (
            self.name, self.name, self.signature(), self.name, len(self.args), self.positional, self.required, kind,
            ", ".join('"%s"' % n for n in names) or "NULL", len(names), self.name))
        return "\n".join(head)

    def results(self, call):
        """What kind of results there are, their names, and the lines that put them into c->outs."""
        if self.outs:
            return "RESULT_LIST", [], ["struct skiff_var **outs = layer_call_reserve(c, %s);" % self.count(),
                                       "if (outs)\n        %s;" % call]
        if self.result != "struct skiff_var *":
            return self.struct_result(call)
        lines = ["c->outs[0] = %s;" % call, "c->nouts = 1;"]
        if self.extra is None:
            return "RESULT_ONE", [], lines
        label = self.args[self.extra][0]
        return "RESULT_EXTRA", ["out", label], lines + ["c->outs[1] = extra;", "c->nouts += c->a[%d].b;" % self.extra]

    def count(self):
        labels = [a[0] for a in self.args]
        if "sections" in labels:
            return "c->a[%d].i > 0 ? (int)c->a[%d].i : c->a[%d].dims.n" % (
                self.index("num"), self.index("num"), self.index("sections"))
        x, axis, num = self.index("x"), self.index("axis"), self.index("num")
        return ("c->a[%d].i > 0 ? (int)c->a[%d].i : (int)skiff_var_dim(c->a[%d].var, c->a[%d].i < 0 ? (int)c->a[%d].i + "
                "skiff_var_ndim(c->a[%d].var) : (int)c->a[%d].i)" % (num, num, x, axis, axis, x, axis))

    def struct_result(self, call):
        """A struct of variables; an array in it (auc's states) is a list at the end."""
        names, places = [], []
        for kind, label in fields(self.structs[self.result.split()[1]]):
            names.append(label)
            m = re.match(r"struct skiff_var \*\[(\d+)\]", kind)
            places += ["r.%s[%d]" % (label, k) for k in range(int(m.group(1)))] if m else ["r.%s" % label]
        lines = ["%s r = %s;" % (self.result, call)]
        lines += ["c->outs[%d] = %s;" % (k, place) for k, place in enumerate(places)]
        return "RESULT_STRUCT", names, lines + ["c->nouts = %d;" % len(places)]


def main():
    include, layers, out, out_list = sys.argv[1:5]
    text = expand(include)
    structs = {m.group(1): m.group(2) for m in re.finditer(r"struct (skiff_\w+) \{([^{}]*)\};", text)}
    zeros = zero_names(layers)
    found = []
    for m in re.finditer(r"((?:struct \w+\s+\**|_Bool))\s*\b(skiff_(?:layer|lr)_\w+)\(([^;{}]*)\);", text):
        result, c_name = " ".join(m.group(1).split()), m.group(2)
        params = [declaration(p) for p in m.group(3).split(",")]
        name = re.sub(r"^skiff_(layer_)?", "", c_name)
        found.append(Layer(name, c_name, result, params[1:], structs, zeros(c_name)))
    found.sort(key=lambda b: b.name)
    made = "/* Made by tools/gen_layers.py from the headers; do not change. */\n"
    with open(out_list, "w", encoding="utf-8") as f:
        f.write(made + "".join('LAYER(%s, "%s")\n' % (b.name, b.signature()) for b in found))
    with open(out, "w", encoding="utf-8") as f:
        f.write(made + '#include "layers/table.h"\n\n' + "\n\n".join(b.code() for b in found) + "\n")


if __name__ == "__main__":
    main()
