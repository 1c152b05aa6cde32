"""Settings of sparse tables, in the form of scripts, converted to lines for servers.

sparse_table_configs: {table: {"table_parameters.<table>.<path>": value}}, paths as in PaddleRec's YAML files.
fleet_desc_configs: {table: {older name: value}}. What values mean, and what is filled in, is C's (src/table/table_config.h).
"""
import warnings

from paddle import _names

_SAVE = "accessor.table_accessor_save_param."
#: names at the end of paths that have a list
_LISTS = ("weight_bounds", "load_filter_slots", "save_filter_slots")
_TEXTS = ("table_class", "accessor_class", "name", "converter", "deconverter", "entry", "memory_limit", "memory_policy",
          "path")
_WHOLE = ("shard_num", "sparse_table_cache_file_num", "fea_dim", "embedx_dim", "embedx_threshold", "num", "param",
          "enable_sparse_table_cache", "enable_revert", "show_scale", "zero_init")
_REALS = ("sparse_table_cache_rate", "shard_merge_rate", "nonclk_coeff", "click_coeff", "base_threshold", "delta_threshold",
          "delta_keep_days", "show_click_decay_rate", "delete_threshold", "delete_after_unseen_days", "ssd_unseenday_threshold",
          "learning_rate", "initial_range", "initial_g2sum", "beta1_decay_rate", "beta2_decay_rate", "ada_epsilon",
          "weight_bounds")


class TableParameter(object):
    """Settings of one table: values by path."""

    def __init__(self, table_name, values):
        self.table_name, self.values = table_name, values

    def lines(self):
        """"<path> <value>" each, lists with commas between their values."""
        return "".join("%s %s\n" % (path, _text(self.table_name, path, value)) for path, value in self.values.items())

    def __repr__(self):
        return "table_name: %r\n%s" % (self.table_name, self.lines())


def _text(table, path, value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(table, path, v) for v in value)
    text = value if isinstance(value, str) else repr(value.item() if hasattr(value, "item") else value)
    if "\n" in text:
        raise ValueError("sparse_table_configs: %s of table %s has a line break: %r; write it on one line" % (path, table, text))
    return text


def _checked(table, path, value):
    """The value, if its type can be right; numbers and texts are not the same, as in Paddle. C checks whether
    names that are not listed here are misspelt."""
    name = path.rsplit(".", 1)[-1]
    for one in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(one, str) and name in _WHOLE + _REALS or not isinstance(one, str) and name in ("table_class", "name"):
            raise TypeError("sparse_table_configs: %s of table %s is %r; expected a %s" %
                            (path, table, value, "text" if name in _TEXTS else "number"))
        if name in _WHOLE and not hasattr(one, "__index__"):
            raise TypeError("sparse_table_configs: %s of table %s is %r; expected a whole number" % (path, table, value))
    if name in _LISTS and not isinstance(value, (list, tuple)):
        raise TypeError("sparse_table_configs: %s of table %s is %r; expected a list" % (path, table, value))
    return value


def _savers(table, given, values):
    """table_accessor_save_param: as many as its num says; a list has one value for each."""
    count = given.pop("num", 0)
    for i in range(count):
        for field, value in given.items():
            if isinstance(value, (list, tuple)):
                if len(value) < count:
                    raise ValueError("sparse_table_configs: %s%s of table %s has %d values; num says %d" %
                                     (_SAVE, field, table, len(value), count))
                value = value[i]
            values["%s%d.%s" % (_SAVE, i, field)] = value


#: how settings begin, behind table_parameters.<table>.
_HEADS = ("accessor.", "table_class", "shard_num", "enable_", "sparse_table_cache", "memory_", "entry")


def _say_unused(configs, table, key):
    """A setting that would count if its name began as Paddle wants it. PaddleRec gives each table those of all tables."""
    words = key.split(".", 2)
    known = words[0] != "table_parameters" or len(words) < 3 or words[1] in configs
    if not known or key.startswith(_HEADS):
        warnings.warn("sparse_table_configs: %s of table %s is not used: it would have to begin with table_parameters.%s." %
                      (key, table, table), stacklevel=4)


def from_parameters(configs):
    """TableParameters of sparse_table_configs."""
    if not isinstance(configs, dict):
        raise TypeError("sparse_table_configs is %r; expected {table: {path: value}}" % (configs,))
    found = []
    for table, given in configs.items():
        prefix, values, savers = "table_parameters.%s." % table, {}, {}
        if not isinstance(given, dict):
            raise TypeError("sparse_table_configs: the settings of table %s are %r; expected {path: value}" % (table, given))
        for key, value in given.items():
            path = key[len(prefix):]
            if not key.startswith(prefix):
                _say_unused(configs, table, key)
                continue
            if value is None:
                continue
            _checked(table, path, value)
            if path.startswith(_SAVE):
                savers[path[len(_SAVE):]] = value
            elif isinstance(value, (list, tuple)) and path.rsplit(".", 1)[-1] not in _LISTS:
                values[path] = value[0]
            else:
                values[path] = value
        _savers(table, savers, values)
        found.append(TableParameter(table, values))
    return found


# ---- older names ----

#: older name -> path, default of those that always count
_OLDER = {"sparse_shard_num": ("shard_num", 1000), "sparse_enable_cache": ("enable_sparse_table_cache", True),
          "sparse_cache_rate": ("sparse_table_cache_rate", 0.00055),
          "sparse_cache_file_num": ("sparse_table_cache_file_num", 16),
          "sparse_embedx_dim": ("accessor.embedx_dim", 8), "sparse_embedx_threshold": ("accessor.embedx_threshold", 10)}
_CTR = {"nonclk_coeff": 0.1, "click_coeff": 1, "base_threshold": 1.5, "delta_threshold": 0.25, "delta_keep_days": 16,
        "show_click_decay_rate": 0.98, "delete_threshold": 0.8, "delete_after_unseen_days": 30, "ssd_unseenday_threshold": 1}
_RULES = {"naive": ("SparseNaiveSGDRule", "naive"), "adagrad": ("SparseAdaGradSGDRule", "adagrad"),
          "adagrad_v2": ("SparseAdaGradV2SGDRule", "adagrad"), "std_adagrad": ("StdAdaGradSGDRule", "adagrad"),
          "adam": ("SparseAdamSGDRule", "adam"), "shared_adam": ("SparseSharedAdamSGDRule", "adam")}
_RULE_VALUES = {"naive": {"learning_rate": 0.05, "initial_range": 1e-4},
                "adagrad": {"learning_rate": 0.05, "initial_range": 1e-4, "initial_g2sum": 3},
                "adam": {"learning_rate": 0.001, "initial_range": 1e-4, "beta1_decay_rate": 0.9, "beta2_decay_rate": 0.999,
                         "ada_epsilon": 1e-8}}
_TABLES = ("DownpourSparseTable", "DownpourSparseSSDTable")
_ACCESSORS = ("DownpourSparseValueAccessor DownpourCtrAccessor DownpourCtrDoubleAccessor DownpourUnitAccessor "
              "DownpourDoubleUnitAccessor DownpourCtrDymfAccessor").split()
_RULE_WORDS = "optimizer learning_rate weight_bounds initial_range initial_g2sum beta1_decay_rate beta2_decay_rate".split()
_KNOWN = set("sparse_table_class sparse_compress_in_save sparse_accessor_class sparse_fea_dim sparse_converter "
             "sparse_deconverter sparse_ada_epsilon feature_learning_rate nodeid_slot sparse_load_filter_slots "
             "sparse_save_filter_slots".split()) | set(_OLDER) | {"sparse_" + name for name in _CTR}
_KNOWN |= {prefix + "sparse_" + word for prefix in ("", "embed_", "embedx_") for word in _RULE_WORDS}


def _rule(given, part, prefix, values):
    """The rule of embed or embedx; prefix: of the names that say it."""
    short = given.get(prefix + "sparse_optimizer", "adagrad")
    where = "accessor.%s_sgd_param." % part
    if short not in _RULES:
        raise ValueError("fleet_desc_configs: %ssparse_optimizer is %r; expected one of %s" %
                         (prefix, short, ", ".join(_RULES)))
    values[where + "name"], kind = _RULES[short]
    for name, default in _RULE_VALUES[kind].items():
        values["%s%s.%s" % (where, kind, name)] = given.get(prefix + "sparse_" + name, default)
    if prefix == "embed_" and kind == "adagrad":
        values[where + "adagrad.initial_range"] = 0
    values["%s%s.weight_bounds" % (where, kind)] = given.get(prefix + "sparse_weight_bounds", [-10, 10])


def _accessor(given, use_cvm):
    name = given.get("sparse_accessor_class", "DownpourCtrAccessor")
    if name not in _ACCESSORS:
        raise ValueError("support sparse_accessor_class: %s, but actual %s" % (_ACCESSORS, name))
    kind = "CtrDoubleAccessor" if "Double" in name else "CtrDymfAccessor" if "Dymf" in name else "CtrCommonAccessor"
    return name, kind if use_cvm else "SparseAccessor"


def _older(table, given, use_cvm):
    for key in given:
        if key not in _KNOWN:
            raise ValueError("strategy key '%s' not support" % key)
    kind = given.get("sparse_table_class", _TABLES[0])
    if kind not in _TABLES:
        raise ValueError("support sparse_table_class: ['DownpourSparseTable, DownpourSparseSSDTable'], but actual %s" % kind)
    name, accessor = _accessor(given, use_cvm)
    values = {"table_class": "SSDSparseTable" if kind == _TABLES[1] else "MemorySparseTable",
              "accessor.accessor_class": accessor}
    values.update((path, given.get(key, default)) for key, (path, default) in _OLDER.items())
    values["accessor.fea_dim"] = values["accessor.embedx_dim"] + 3
    values["accessor.ctr_accessor_param.show_scale"] = name != "DownpourUnitAccessor"
    for key, default in _CTR.items():
        values["accessor.ctr_accessor_param." + key] = given.get("sparse_" + key, default)
    for i, mode in enumerate((1, 2)):
        values["%s%d.param" % (_SAVE, i)] = mode
        for field in ("converter", "deconverter"):
            values["%s%d.%s" % (_SAVE, i, field)] = given.get("sparse_" + field, "")
    both = name in ("DownpourCtrAccessor", "DownpourCtrDoubleAccessor")
    _rule(given, "embed", "" if both else "embed_", values)
    _rule(given, "embedx", "" if both else "embedx_", values)
    return TableParameter(table, values)


def from_fleet_desc(configs):
    """TableParameters of fleet_desc_configs."""
    return [_older(table, given, configs.get("use_cvm", True)) for table, given in (configs or {}).items()
            if table not in ("dense_table", "datanorm_table") and isinstance(given, dict)]


__getattr__ = _names.guard(__name__)
