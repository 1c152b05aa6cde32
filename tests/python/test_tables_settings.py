"""Settings of sparse tables, entries, FleetUtil: checks and numbers of Paddle 2.6.2."""
import io
import json
import os
import shutil
import tempfile
import unittest
import warnings
from contextlib import redirect_stdout

import numpy
import paddle
import paddle.distributed.fleet as fleet
from paddle.distributed import CountFilterEntry, ProbabilityEntry, ShowClickEntry
from paddle.incubate.distributed.fleet.fleet_util import FleetUtil

#: fleet_desc_configs {"e": {"sparse_embedx_dim": 4}} of 2.6.2, and what its message holds
OLDER = """table_class MemorySparseTable
accessor.accessor_class CtrCommonAccessor
shard_num 1000
enable_sparse_table_cache true
sparse_table_cache_rate 0.00055
sparse_table_cache_file_num 16
accessor.embedx_dim 4
accessor.embedx_threshold 10
accessor.fea_dim 7
accessor.ctr_accessor_param.show_scale true
accessor.ctr_accessor_param.nonclk_coeff 0.1
accessor.ctr_accessor_param.click_coeff 1
accessor.ctr_accessor_param.base_threshold 1.5
accessor.ctr_accessor_param.delta_threshold 0.25
accessor.ctr_accessor_param.delta_keep_days 16
accessor.ctr_accessor_param.show_click_decay_rate 0.98
accessor.ctr_accessor_param.delete_threshold 0.8
accessor.ctr_accessor_param.delete_after_unseen_days 30
accessor.ctr_accessor_param.ssd_unseenday_threshold 1
accessor.table_accessor_save_param.0.param 1
accessor.table_accessor_save_param.0.converter 
accessor.table_accessor_save_param.0.deconverter 
accessor.table_accessor_save_param.1.param 2
accessor.table_accessor_save_param.1.converter 
accessor.table_accessor_save_param.1.deconverter 
accessor.embed_sgd_param.name SparseAdaGradSGDRule
accessor.embed_sgd_param.adagrad.learning_rate 0.05
accessor.embed_sgd_param.adagrad.initial_range 0.0001
accessor.embed_sgd_param.adagrad.initial_g2sum 3
accessor.embed_sgd_param.adagrad.weight_bounds -10,10
accessor.embedx_sgd_param.name SparseAdaGradSGDRule
accessor.embedx_sgd_param.adagrad.learning_rate 0.05
accessor.embedx_sgd_param.adagrad.initial_range 0.0001
accessor.embedx_sgd_param.adagrad.initial_g2sum 3
accessor.embedx_sgd_param.adagrad.weight_bounds -10,10
"""


class Settings(unittest.TestCase):
    def setUp(self):
        self.strategy = fleet.DistributedStrategy()
        self.strategy.a_sync = True

    def lines(self):
        return dict(self.strategy._native(1).get("tables", []))

    def refused(self, kind, text, name, value):
        with self.assertRaises(kind) as caught:
            setattr(self.strategy, name, value)
        self.assertIn(text, str(caught.exception))
        self.assertEqual(self.lines(), {})

    def test_paths_become_lines(self):
        at = "table_parameters.e."
        self.strategy.sparse_table_configs = {"e": {
            at + "shard_num": 4, at + "enable_revert": True, at + "accessor.accessor_class": "SparseAccessor",
            at + "accessor.embed_sgd_param.adagrad.weight_bounds": [-1.0, 0.5], at + "sparse_table_cache_rate": [0.25, 1.0],
            "table_parameters.other.shard_num": 9}}
        self.assertEqual(self.lines(), {"e": "shard_num 4\nenable_revert true\naccessor.accessor_class SparseAccessor\n"
                                             "accessor.embed_sgd_param.adagrad.weight_bounds -1.0,0.5\n"
                                             "sparse_table_cache_rate 0.25\n"})
        self.assertEqual([t.table_name for t in self.strategy.sparse_table_configs], ["e"])
        self.assertIn("shard_num 4", repr(self.strategy.sparse_table_configs))

    def test_settings_of_another_name_are_told(self):
        for key in ("shard_num", "accessor.embedx_threshold", "table_parameters.f.shard_num"):
            with self.assertWarnsRegex(UserWarning, "%s of table e is not used: it would have to begin with table_parameters.e." % key):
                self.strategy.sparse_table_configs = {"e": {key: 4}}
        both = {"table_parameters.e.shard_num": 4, "table_parameters.f.shard_num": 5, "runner.epochs": 1}
        with warnings.catch_warnings():  # as PaddleRec gives them
            warnings.simplefilter("error")
            self.strategy.sparse_table_configs = {"e": both, "f": both}

    def test_converters_are_numbered(self):
        at = "table_parameters.e.accessor.table_accessor_save_param."
        self.strategy.sparse_table_configs = {"e": {at + "num": 2, at + "param": [1, 2], at + "converter": "gzip, -c",
                                                    at + "deconverter": ["cat", "tac"]}}
        at = "accessor.table_accessor_save_param."
        self.assertEqual(self.lines()["e"].splitlines(), [
            at + "0.param 1", at + "0.converter gzip, -c", at + "0.deconverter cat",
            at + "1.param 2", at + "1.converter gzip, -c", at + "1.deconverter tac"])

    def test_names_that_are_not_known(self):
        """They are for C to judge, whatever their type: it knows what is meant."""
        self.strategy.sparse_table_configs = {"e": {"table_parameters.e.memry_limit": "4M"}}
        self.assertEqual(self.lines()["e"], "memry_limit 4M\n")

    def test_wrong_values(self):
        at = "table_parameters.e."
        for path, value, text in (
                ("shard_num", "4", "shard_num of table e is '4'; expected a number"),
                ("shard_num", 4.5, "shard_num of table e is 4.5; expected a whole number"),
                ("table_class", 3, "table_class of table e is 3; expected a text"),
                ("accessor.embed_sgd_param.adagrad.weight_bounds", 3.0, "weight_bounds of table e is 3.0; expected a list"),
                ("accessor.ctr_accessor_param.nonclk_coeff", "x", "nonclk_coeff of table e is 'x'; expected a number")):
            self.refused(TypeError, text, "sparse_table_configs", {"e": {at + path: value}})
        self.refused(TypeError, "the settings of table e are 3; expected {path: value}", "sparse_table_configs", {"e": 3})
        self.refused(TypeError, "sparse_table_configs is [3]; expected {table: {path: value}}", "sparse_table_configs", [3])
        save = at + "accessor.table_accessor_save_param."
        self.refused(ValueError, "converter of table e has 1 values; num says 2", "sparse_table_configs",
                     {"e": {save + "num": 2, save + "converter": ["a"]}})
        self.strategy.sparse_table_configs = {"e": {save + "num": 1, save + "converter": "a\nb"}}
        with self.assertRaisesRegex(ValueError, "0.converter of table e has a line break: 'a\\\\nb'; write it on one line"):
            self.strategy._native(1)

    def test_older_names(self):
        self.strategy.fleet_desc_configs = {"e": {"sparse_embedx_dim": 4}, "dense_table": {"x": 1}, "use_cvm": True}
        self.assertEqual(self.lines(), {"e": OLDER})
        self.assertIs(self.strategy.fleet_desc_configs, self.strategy.sparse_table_configs)

    def test_older_accessors_and_rules(self):
        def of(**keys):
            self.strategy.fleet_desc_configs = dict({"e": keys.pop("e")}, **keys)
            return dict(line.split(" ", 1) for line in self.lines()["e"].splitlines())
        found = of(e={"sparse_accessor_class": "DownpourUnitAccessor", "embed_sparse_optimizer": "adam",
                      "embed_sparse_learning_rate": 0.5, "embedx_sparse_optimizer": "std_adagrad"})
        self.assertEqual(found["accessor.accessor_class"], "CtrCommonAccessor")
        self.assertEqual(found["accessor.ctr_accessor_param.show_scale"], "false")
        self.assertEqual(found["accessor.embed_sgd_param.name"], "SparseAdamSGDRule")
        self.assertEqual(found["accessor.embed_sgd_param.adam.learning_rate"], "0.5")
        self.assertEqual(found["accessor.embedx_sgd_param.name"], "StdAdaGradSGDRule")
        self.assertEqual(found["accessor.embedx_sgd_param.adagrad.initial_range"], "0.0001")
        found = of(e={"sparse_accessor_class": "DownpourSparseValueAccessor"})
        self.assertEqual(found["accessor.embed_sgd_param.adagrad.initial_range"], "0")  # prefix embed_
        self.assertEqual(of(e={"sparse_accessor_class": "DownpourCtrDoubleAccessor"})["accessor.accessor_class"],
                         "CtrDoubleAccessor")
        self.assertEqual(of(e={"sparse_accessor_class": "DownpourCtrDymfAccessor"})["accessor.accessor_class"],
                         "CtrDymfAccessor")
        self.assertEqual(of(e={}, use_cvm=False)["accessor.accessor_class"], "SparseAccessor")
        self.assertEqual(of(e={"sparse_table_class": "DownpourSparseSSDTable"})["table_class"], "SSDSparseTable")

    def test_older_names_that_are_wrong(self):
        for given, text in (({"zz": 1}, "strategy key 'zz' not support"),
                            ({"sparse_table_class": "zz"}, "support sparse_table_class: ['DownpourSparseTable, "
                                                           "DownpourSparseSSDTable'], but actual zz"),
                            ({"sparse_accessor_class": "zz"}, "'DownpourCtrDymfAccessor'], but actual zz"),
                            ({"sparse_optimizer": "zz"}, "sparse_optimizer is 'zz'; expected one of naive, adagrad, ")):
            self.refused(ValueError, text, "fleet_desc_configs", {"e": given})
        self.strategy.fleet_desc_configs = None
        self.assertEqual(self.lines(), {})

    def test_modes(self):
        self.strategy.sparse_table_configs = {"e": {"table_parameters.e.shard_num": 4}}
        self.assertTrue(self.strategy._native(1)["all_features"])
        self.strategy.a_sync_configs = {"k_steps": 3}
        self.assertEqual(self.strategy._native(1), {"mode": "geo", "threads": 1, "geo_steps": 3})
        self.strategy.a_sync = False
        self.assertEqual(self.strategy._native(1), {"mode": "sync", "threads": 1, "tables": [("e", "shard_num 4\n")]})

    def test_other_fields(self):
        with self.assertRaisesRegex(ValueError, "The type of `flag` is invalid, expected type is bool, but received"):
            self.strategy.adam_d2sum = 1
        self.strategy.adam_d2sum = True
        self.assertTrue(self.strategy._native(1)["adam_d2sum"])
        self.strategy.fs_client_param = {"uri": "hdfs://a", "user": "b"}
        self.assertEqual(self.strategy.fs_client_param, {"uri": "hdfs://a", "user": "b", "passwd": "", "hadoop_bin": ""})
        with self.assertRaisesRegex(ValueError, "fs_client_param of DistributedStrategy has no key x; it has hadoop_bin"):
            self.strategy.fs_client_param = {"x": 1}


class Entries(unittest.TestCase):
    def test_texts_and_checks(self):
        self.assertEqual(CountFilterEntry(3)._to_attr(), "count_filter_entry:3")
        self.assertEqual(ProbabilityEntry(0.5)._to_attr(), "probability_entry:0.5")
        self.assertEqual(ShowClickEntry("a", "b")._to_attr(), "show_click_entry:a:b")
        for call, text in ((lambda: CountFilterEntry("3"), "count_filter must be a valid integer greater than 0"),
                           (lambda: CountFilterEntry(-1), "count_filter must be a valid integer greater or equal than 0"),
                           (lambda: ProbabilityEntry(1.0), r"probability must be a float in \(0,1\)"),
                           (lambda: ProbabilityEntry(0), r"probability must be a float in \(0,1\)"),
                           (lambda: ShowClickEntry(1, "b"), "show_name click_name must be a str")):
            self.assertRaisesRegex(ValueError, text, call)

    def test_lookups(self):
        paddle.enable_static()
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            look, ids = paddle.static.nn.sparse_embedding, paddle.static.data("x", [None, 1], "int64")
            out = look(ids, [10, 4], entry=CountFilterEntry(3), slot=7, padding_idx=-1)
            op = out.block.ops[-1]
            self.assertEqual((op.type, op.attr("entry"), op.attr("slot"), op.attr("padding_idx")),
                             ("lookup_table", "count_filter_entry:3", 7, 9))
            self.assertRaisesRegex(ValueError, "entry must be instance in", look, ids, [10, 4], entry="count_filter_entry:3")
            self.assertRaisesRegex(ValueError, r"table_class must be in \[CommonSparseTable", look, ids, [10, 4],
                                   table_class="NoSuchTable")
            floats = paddle.static.data("y", [None, 1], "float32")
            self.assertRaisesRegex(TypeError, r"sparse_embedding must be \['int64'\], but received float32", look, floats,
                                   [10, 4])


class Util(unittest.TestCase):
    """Values of 2.6.2, with one worker."""

    def setUp(self):
        fleet.init()
        self.util, self.folder = FleetUtil(), tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "out")

    def said(self, call, *args, **keys):
        with self.assertLogs("paddle.incubate.distributed.fleet.fleet_util") as logs:
            call(*args, **keys)
        return [record.getMessage() for record in logs.records]

    def test_passes_of_a_day(self):
        passes = self.util.get_online_pass_interval
        self.assertEqual(passes("20190720", "{0..23}", 720, 1, False), [["0000"], ["1200"]])
        self.assertEqual(passes("20190720", "{0..2}", 20, 3, False)[2], ["0200", "0220", "0240"])
        self.assertEqual(passes("{20190720..20190721}", "{5..7}", "60", "2", True), [["05", "06"]])
        self.assertRaisesRegex(Exception, "days format is not right: 'x'; expected a number", passes, "x", "{0..2}", 20, 3, False)
        self.assertRaisesRegex(Exception, "hours format is not right", passes, "20190720", "a", 20, 3, False)
        self.assertRaisesRegex(ValueError, "Please choose one mode from", FleetUtil, "x")

    def test_model_donefile(self):
        self.assertEqual(self.util.get_last_save_model(self.path)[:3], [-1, -1, ""])
        self.assertEqual(self.said(self.util.write_model_donefile, self.path, 20190720, 1, 77),
                         ["write 20190720/1 donefile.txt succeed"])
        self.util.write_model_donefile(self.path, "20190721", "-1", "78")
        self.assertEqual(self.said(self.util.write_model_donefile, self.path, 20190720, 1, 99),
                         ["not write donefile.txt because 20190720/1 already exists"])
        with open(self.path + "/donefile.txt") as f:
            self.assertEqual(f.read(), "20190720\t77\t%s/20190720/1/\t1\t0\n20190721\t78\t%s/20190721/0/\t-1\t0\n" %
                             (self.path, self.path))
        self.assertEqual(self.util.get_last_save_model(self.path), [20190721, -1, self.path + "/20190721/0/", 78])
        self.assertEqual(os.listdir(self.path), ["donefile.txt"])

    def test_xbox_donefiles(self):
        self.util.write_xbox_donefile(self.path, 20190720, 2, 77, ["a", "b"])
        self.assertEqual(self.said(self.util.write_xbox_donefile, self.path, 20190720, 1, 77, "a"),
                         ["not write xbox_patch_done.txt because 20190720/1 already exists"])
        self.util.write_xbox_donefile(self.path, 20190721, -1, 78, "a")
        with open(self.path + "/xbox_patch_done.txt") as f:
            line = json.loads(f.read())
        self.assertEqual((line["key"], line["input"], line["ins_path"], line["mpi_size"]),
                         ("77", self.path + "/20190720/delta-2/000", "a,b", "1"))
        self.assertEqual(self.util.get_last_save_xbox(self.path), [20190720, 2, self.path + "/20190720/delta-2", 77])
        self.assertEqual(self.util.get_last_save_xbox_base(self.path), [20190721, self.path + "/20190721/base", 78])
        self.util.write_cache_donefile(self.path, 20190721, -1, 5, file_num=2)
        with open(self.path + "/20190721/base/000_cache/sparse_cache.meta") as f:
            self.assertEqual(f.read(), "file_prefix:part\npart_num:2\nkey_num:5\n")

    def test_metrics(self):
        scope, buckets = paddle.static.global_scope(), numpy.arange(101)
        for name, value in (("_generated_var_2", buckets * 7 % 23 * buckets), ("_generated_var_3", buckets[::-1] * 5 % 19 * 20)):
            scope.var(name).get_tensor().set(value.astype("int64").reshape(1, -1), paddle.CPUPlace())
        for name, value in (("sqrerr", 12.5), ("abserr", 20.25), ("prob", 31), ("q", 4.5), ("pos", 30), ("total", 100)):
            scope.var(name).get_tensor().set(numpy.array([value], "float32"), paddle.CPUPlace())
        found = self.util.get_global_metrics(scope)
        numpy.testing.assert_allclose(found, [0.6713181394925436, 0.33386067413524456, 0.2025, 0.3535533905932738, 0.3, 0.31,
                                              0.96774197, 0.045, 100], rtol=1e-6)
        self.assertAlmostEqual(self.util.get_global_auc(scope), 0.6713181394925436, 12)
        out = io.StringIO()
        with redirect_stdout(out):
            self.util.print_global_metrics(scope, print_prefix="p")
            self.util.get_global_metrics(scope, q_name="none")
            self.util.get_global_auc(scope, stat_pos="none")
            self.util.print_global_auc(scope, print_prefix="p")
        self.assertEqual(out.getvalue().splitlines(), [
            "p global AUC=0.671318 BUCKET_ERROR=0.333861 MAE=0.202500 RMSE=0.353553 Actural_CTR=0.300000 "
            "Predicted_CTR=0.310000 COPC=0.967742 MEAN Q_VALUE=0.045000 Ins number=100",
            "not found none", "not found auc bucket", "p global auc = 0.6713181394925436"])
        self.util.set_zero("_generated_var_2", scope)
        self.assertEqual(numpy.asarray(scope.find_var("_generated_var_2").get_tensor()).tolist(), [[0] * 101])


if __name__ == "__main__":
    unittest.main()
