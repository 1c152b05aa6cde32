"""FleetUtil: training day by day. Models by day and pass, done files, metrics over all workers.

    <output>/<day>/<pass>/         save_model           mode 0     donefile.txt
    <output>/<day>/0/              save_batch_model     mode 3     donefile.txt, pass -1
    <output>/<day>/delta-<pass>/   save_delta_model     mode 1     xbox_patch_done.txt
    <output>/<day>/base/           save_xbox_base_model mode 2     xbox_base_done.txt

Done files lie on this machine unless the path or hadoop_fs_name says hdfs: or afs:. Only worker 0 writes.
"""
import json
import logging
import os
import re
import sys
import tempfile
import time

from paddle import _names
from paddle.distributed.fleet._fleet import fleet

_log = logging.getLogger(__name__)


class _Files(object):
    """Where done files lie."""

    def __init__(self, path, name, ugi, home):
        from paddle.distributed.fleet.utils.fs import HDFSClient, LocalFS
        self._far = any(text.startswith(("hdfs:", "afs:", "webhdfs:")) for text in (path or "", name or ""))
        self._client = HDFSClient(home, {"fs.default.name": name, "hadoop.job.ugi": ugi}) if self._far else LocalFS()

    def lines(self, path):
        """Of the file; [] when it is not there."""
        if not self._client.is_file(path):
            return []
        return [line for line in self._client.cat(path).split("\n") if line]

    def write(self, path, lines):
        """Writes the complete file; another process sees the old or the new one."""
        folder = os.path.dirname(path) or "."
        if not self._far:
            os.makedirs(folder, exist_ok=True)
        part = tempfile.NamedTemporaryFile("w", dir=None if self._far else folder, delete=False)
        with part:
            part.write("".join(line + "\n" for line in lines))
        if not self._far:
            os.chmod(part.name, 0o644)
            os.replace(part.name, path)
            return
        self._client.mkdirs(folder)
        self._client.delete(path)
        self._client.upload(part.name, path)
        os.unlink(part.name)


def _place(line):
    """(day, pass) of a line of an xbox file; the pass of a base is -1."""
    parts = json.loads(line)["input"].rstrip("/").split("/")
    last = parts[-2].split("-")[-1]
    return int(parts[-3]), int(last) if last.isdigit() else -1


class FleetUtil(object):
    def __init__(self, mode="pslib"):
        if mode not in ("pslib", "transpiler"):
            raise ValueError("Please choose one mode from [\"pslib\", \"transpiler\"]")

    # ---- words of worker 0 ----

    def rank0_print(self, s):
        if fleet.worker_index() == 0:
            print(s)
            sys.stdout.flush()

    def rank0_info(self, s):
        if fleet.worker_index() == 0:
            _log.info(s)

    def rank0_error(self, s):
        if fleet.worker_index() == 0:
            _log.error(s)

    # ---- metrics ----

    def set_zero(self, var_name, scope=None, place=None, param_type="int64"):
        """Zeros in a variable of the scope."""
        import numpy
        tensor = _scope(scope).var(var_name).get_tensor()
        tensor.set(numpy.zeros(tensor.shape(), param_type), place)

    def get_global_auc(self, scope=None, stat_pos="_generated_var_2", stat_neg="_generated_var_3"):
        """Of the buckets of all workers; None when they are not there."""
        from paddle.distributed.fleet import metrics
        if any(_scope(scope).find_var(name) is None for name in (stat_pos, stat_neg)):
            self.rank0_print("not found auc bucket")
            return None
        return metrics.auc(stat_pos, stat_neg, _scope(scope))

    def print_global_auc(self, scope=None, stat_pos="_generated_var_2", stat_neg="_generated_var_3", print_prefix=""):
        self.rank0_print(print_prefix + " global auc = %s" % self.get_global_auc(scope, stat_pos, stat_neg))

    def get_global_metrics(self, scope=None, stat_pos_name="_generated_var_2", stat_neg_name="_generated_var_3",
                           sqrerr_name="sqrerr", abserr_name="abserr", prob_name="prob", q_name="q",
                           pos_ins_num_name="pos", total_ins_num_name="total"):
        """[auc, bucket_error, mae, rmse, actual_ctr, predicted_ctr, copc, mean_predict_qvalue, total_ins_num] over all
        workers; nine times None when a variable is missing."""
        from paddle.distributed.fleet import metrics
        scope = _scope(scope)
        sums = (sqrerr_name, abserr_name, prob_name, q_name, pos_ins_num_name, total_ins_num_name)
        for name in (stat_pos_name, stat_neg_name) + sums:
            if scope.find_var(name) is None:
                self.rank0_print("not found %s" % name)
                return [None] * 9
        squares, absolute, prob, q, clicks, total = [float(metrics.sum(name, scope).ravel()[0]) for name in sums]
        pos, neg = [metrics.sum(name, scope).ravel() for name in (stat_pos_name, stat_neg_name)]
        actual, predicted = clicks / total, prob / total
        return [metrics.auc(stat_pos_name, stat_neg_name, scope), _bucket_error(pos, neg), absolute / total,
                (squares / total) ** 0.5, actual, predicted, actual / predicted if predicted > 1e-6 else 0.0, q / total,
                int(total)]

    def print_global_metrics(self, scope=None, stat_pos_name="_generated_var_2", stat_neg_name="_generated_var_3",
                             sqrerr_name="sqrerr", abserr_name="abserr", prob_name="prob", q_name="q",
                             pos_ins_num_name="pos", total_ins_num_name="total", print_prefix=""):
        found = self.get_global_metrics(scope, stat_pos_name, stat_neg_name, sqrerr_name, abserr_name, prob_name, q_name,
                                        pos_ins_num_name, total_ins_num_name)
        if found[0] is not None:
            self.rank0_print("{} global AUC={:.6f} BUCKET_ERROR={:.6f} MAE={:.6f} RMSE={:.6f} Actural_CTR={:.6f} "
                             "Predicted_CTR={:.6f} COPC={:.6f} MEAN Q_VALUE={:.6f} Ins number={}".format(print_prefix, *found))

    # ---- models ----

    def load_fleet_model_one_table(self, table_id, path):
        fleet.load_one_table(table_id, path, 0)

    def load_fleet_model(self, path, mode=0):
        fleet.load_model(path, mode)

    def save_fleet_model(self, path, mode=0):
        fleet.save_persistables(None, path, mode=mode)

    def load_model(self, output_path, day, pass_id):
        self.load_fleet_model(_folder(output_path, day, pass_id))

    def save_model(self, output_path, day, pass_id):
        self._save(output_path, day, pass_id, 0)

    def save_batch_model(self, output_path, day):
        self._save(output_path, day, "0", 3)

    def save_delta_model(self, output_path, day, pass_id):
        self._save(output_path, day, "delta-%s" % pass_id, 1)

    def save_xbox_base_model(self, output_path, day):
        self._save(output_path, day, "base", 2)

    def _save(self, output_path, day, last, mode):
        path = _folder(output_path, day, last)
        self.rank0_print("going to save_model %s" % path)
        self.save_fleet_model(path, mode)
        self.rank0_print("save_model done")

    def save_cache_model(self, output_path, day, pass_id, mode=1, **kwargs):
        """How many rows."""
        return fleet.save_cache_model(_folder(output_path, day, "delta-%s" % pass_id), mode=int(mode),
                                      table_id=kwargs.get("table_id", 0))

    def save_cache_base_model(self, output_path, day, **kwargs):
        return fleet.save_cache_model(_folder(output_path, day, "base"), mode=2, table_id=kwargs.get("table_id", 0))

    # ---- done files ----

    def write_model_donefile(self, output_path, day, pass_id, xbox_base_key, hadoop_fs_name="", hadoop_fs_ugi="",
                             hadoop_home="$HADOOP_HOME", donefile_name="donefile.txt"):
        """day, key, path, pass, 0 with tabs between them; once for a day and pass."""
        day, number = str(day), str(pass_id)
        path = _folder(output_path, day, number if number != "-1" else "0")
        line = "%s\t%d\t%s\t%s\t0" % (day, int(xbox_base_key), path, number)

        def is_there(lines):
            return any((int(words[0]), int(words[3])) == (int(day), int(number)) for words in (k.split("\t") for k in lines))
        self._add(output_path, donefile_name, line, is_there, (hadoop_fs_name, hadoop_fs_ugi, hadoop_home), day, number)

    def write_xbox_donefile(self, output_path, day, pass_id, xbox_base_key, data_path, hadoop_fs_name="", hadoop_fs_ugi="",
                            monitor_data={}, hadoop_home="$HADOOP_HOME", donefile_name=None):
        """A line of JSON for a delta model (pass -1: a base model), if it is newer than the last one."""
        day, number = str(day), str(pass_id)
        is_base = number == "-1"
        path = _folder(output_path, day, "base" if is_base else "delta-" + number)
        line = json.dumps({
            "id": str(int(xbox_base_key) if is_base else int(time.time())), "key": str(int(xbox_base_key)),
            "input": (hadoop_fs_name or "") + re.sub("^(hdfs|afs):", "", path).rstrip("/") + "/000",
            "record_count": "111111", "partition_type": "2", "job_name": "default_job_name", "ins_tag": "feasign",
            "ins_path": ",".join(data_path) if isinstance(data_path, list) else data_path,
            "job_id": os.environ.get("JOB_ID", ""), "monitor_data": "",
            "monitor_path": output_path.rstrip("/") + "/monitor/" + day + ".txt", "mpi_size": str(fleet.worker_num())})

        def is_there(lines):
            return bool(lines) and (int(day), int(number)) <= _place(lines[-1])
        name = donefile_name or ("xbox_base_done.txt" if is_base else "xbox_patch_done.txt")
        self._add(output_path, name, line, is_there, (hadoop_fs_name, hadoop_fs_ugi, hadoop_home), day, number)

    def write_cache_donefile(self, output_path, day, pass_id, key_num, hadoop_fs_name="", hadoop_fs_ugi="",
                             hadoop_home="$HADOOP_HOME", donefile_name="sparse_cache.meta", **kwargs):
        last = "base" if str(pass_id) == "-1" else "delta-%s" % pass_id
        folder = "%s%03d_cache" % (_folder(output_path, day, last), kwargs.get("table_id", 0))
        lines = ["file_prefix:part", "part_num:%s" % kwargs.get("file_num", 16), "key_num:%d" % int(key_num)]
        self._add(folder, donefile_name, "\n".join(lines), bool, (hadoop_fs_name, hadoop_fs_ugi, hadoop_home), day, pass_id)

    def _add(self, folder, name, line, is_there, where, day, number):
        if fleet.worker_index() == 0:
            path = folder.rstrip("/") + "/" + name
            files = _Files(folder, *where)
            lines = files.lines(path)
            if is_there(lines):
                self.rank0_error("not write %s because %s/%s already exists" % (name, day, number))
            else:
                files.write(path, lines + [line])
                self.rank0_error("write %s/%s %s succeed" % (day, number, name))
        fleet.barrier_worker()

    def get_last_save_model(self, output_path, hadoop_fs_name="", hadoop_fs_ugi="", hadoop_home="$HADOOP_HOME"):
        """[day, pass, path, key] of donefile.txt; [-1, -1, "", now] when there is none."""
        lines = _Files(output_path, hadoop_fs_name, hadoop_fs_ugi, hadoop_home).lines(output_path + "/donefile.txt")
        if not lines:
            return [-1, -1, "", int(time.time())]
        words = lines[-1].split("\t")
        return [int(words[0]), int(words[3]), words[2], int(words[1])]

    def get_last_save_xbox(self, output_path, hadoop_fs_name="", hadoop_fs_ugi="", hadoop_home="$HADOOP_HOME"):
        """[day, pass, path, key] of xbox_patch_done.txt"""
        lines = _Files(output_path, hadoop_fs_name, hadoop_fs_ugi, hadoop_home).lines(output_path + "/xbox_patch_done.txt")
        if not lines:
            return [-1, -1, "", int(time.time())]
        day, number = _place(lines[-1])
        last = json.loads(lines[-1])
        return [day, number, os.path.dirname(last["input"]), int(last["key"])]

    def get_last_save_xbox_base(self, output_path, hadoop_fs_name="", hadoop_fs_ugi="", hadoop_home="$HADOOP_HOME"):
        """[day, path, key] of xbox_base_done.txt"""
        lines = _Files(output_path, hadoop_fs_name, hadoop_fs_ugi, hadoop_home).lines(output_path + "/xbox_base_done.txt")
        if not lines:
            return [-1, -1, int(time.time())]
        last = json.loads(lines[-1])
        return [_place(lines[-1])[0], os.path.dirname(last["input"]), int(last["key"])]

    def get_online_pass_interval(self, days, hours, split_interval, split_per_pass, is_data_hourly_placed):
        """The folders of every pass of a day: [["0000", "0005"], ...]. days, hours: "20190720", "{0..23}"."""
        _numbers(days, "days")
        hours = _numbers(hours, "hours")
        interval, per_pass = int(split_interval), int(split_per_pass)
        starts = [start for start in range(0, 24 * 60, interval) if hours[0] <= start // 60 <= hours[-1]]
        paths = ["%02d" % (s // 60) if is_data_hourly_placed else "%02d%02d" % (s // 60, s % 60) for s in starts]
        return [paths[i * per_pass:(i + 1) * per_pass] for i in range(len(paths) // per_pass)]


def _scope(scope):
    from paddle.fluid.executor import global_scope
    return global_scope() if scope is None else scope


def _folder(output_path, day, last):
    return "%s/%s/%s/" % (output_path.rstrip("/"), day, last)


def _numbers(text, what):
    """Of "7", "{7}", "{7..12}" or "7 8 9"."""
    words = str(text).strip("{}").replace("..", " .. ").split()
    if not words or not all(word == ".." or word.isdigit() for word in words):
        raise Exception("%s format is not right: %r; expected a number, {7} or {0..23}" % (what, text))
    if ".." in words:
        return list(range(int(words[0]), int(words[-1]) + 1))
    return [int(word) for word in words]


def _bucket_error(pos, neg):
    """How far predictions of groups of buckets are from what happened, in shares of it."""
    last, shows, predicted, clicks, error, counted = -1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i, (click, other) in enumerate(zip(pos, neg)):
        ctr, show = i / float(len(pos)), click + other
        if abs(ctr - last) > 0.01:
            last, shows, predicted, clicks = ctr, 0.0, 0.0, 0.0
        shows, predicted, clicks = shows + show, predicted + ctr * show, clicks + click
        if shows == 0 or predicted == 0:
            continue
        mean = predicted / shows
        if ((1 - mean) / (mean * shows)) ** 0.5 < 0.05:
            error, counted, last = error + abs(clicks / shows / mean - 1) * shows, counted + shows, -1
    return error / counted if counted > 0 else 0.0


__getattr__ = _names.guard(__name__)
