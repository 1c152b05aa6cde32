"""DistributedStrategy as text, in the form of Paddle's files (protobuf's text format): fields that a script has set."""
import re

from paddle.distributed.fleet.base.table_settings import TableParameter

#: Paddle 2.6.2's messages: fields in the order of files, * for lists
_MESSAGES = """
DistributedStrategy: mode:word amp:bool recompute:bool localsgd:bool dgc:bool gradient_merge:bool lars:bool lamb:bool
    pipeline:bool elastic:bool auto:bool a_sync:bool sync_nccl_allreduce:bool nccl_comm_num:int32
    use_hierarchical_allreduce:bool hierarchical_allreduce_inter_nranks:int32 sync_batch_norm:bool fuse_all_reduce_ops:bool
    fuse_grad_size_in_MB:int32 fuse_grad_size_in_TFLOPS:float cudnn_exhaustive_search:bool conv_workspace_size_limit:int32
    cudnn_batchnorm_spatial_persistent:bool adaptive_localsgd:bool fp16_allreduce:bool sharding:bool
    last_comm_group_size_MB:float find_unused_parameters:bool tensor_parallel:bool without_graph_optimization:bool
    fuse_grad_size_in_num:int32 calc_comm_same_stream:bool asp:bool fuse_grad_merge:bool semi_auto:bool adam_d2sum:bool
    auto_search:bool heter_ccl_mode:bool is_fl_ps_mode:bool with_coordinator:bool qat:bool split_data:bool
    recompute_configs:RecomputeConfig amp_configs:AMPConfig localsgd_configs:LocalSGDConfig
    gradient_merge_configs:GradientMergeConfig dgc_configs:DGCConfig pipeline_configs:PipelineConfig
    a_sync_configs:AsyncConfig lars_configs:LarsConfig lamb_configs:LambConfig
    adaptive_localsgd_configs:AdaptiveLocalSGDConfig sharding_configs:ShardingConfig hybrid_configs:HybridConfig
    tensor_parallel_configs:TensorParallelConfig trainer_desc_configs:TrainerDescConfig *downpour_table_param:TableParameter
    fs_client_param:FsClientParameter qat_configs:QatConfig build_strategy:BuildStrategy execution_strategy:ExecutionStrategy
    gradient_scale_configs:GradientScaleConfig
RecomputeConfig: *checkpoints:string enable_offload:bool *checkpoint_shape:int32 enable_tuning:bool
    *refined_ops_patterns:RefinedOpsPattern
RefinedOpsPattern: *main_ops:string num:int32 *pre_ops:string *suf_ops:string
AMPConfig: init_loss_scaling:float incr_every_n_steps:int32 decr_every_n_nan_or_inf:int32 incr_ratio:float decr_ratio:float
    use_dynamic_loss_scaling:bool *custom_white_list:string *custom_black_list:string *custom_black_varnames:string
    use_pure_fp16:bool use_fp16_guard:bool use_optimizer_fp16:bool use_pure_bf16:bool
LocalSGDConfig: k_steps:int32 begin_step:int32
GradientMergeConfig: k_steps:int32 avg:bool
DGCConfig: rampup_begin_step:int32 rampup_step:int32 *sparsity:float
PipelineConfig: micro_batch_size:int32 accumulate_steps:int32 schedule_mode:string p2p_cache_shape:bool
    enable_partial_send_recv:bool
AsyncConfig: k_steps:int32 max_merge_var_num:int32 send_queue_size:int32 independent_recv_thread:bool
    min_send_grad_num_before_recv:int32 thread_pool_size:int32 send_wait_times:int32 runtime_split_send_recv:bool
    launch_barrier:bool heter_worker_device_guard:string lr_decay_steps:int32 use_ps_gpu:int32
LarsConfig: lars_coeff:float lars_weight_decay:float epsilon:float *exclude_from_weight_decay:string
LambConfig: lamb_weight_decay:float *exclude_from_weight_decay:string
AdaptiveLocalSGDConfig: init_k_steps:int32 begin_step:int32
ShardingConfig: sharding_segment_strategy:string segment_broadcast_MB:float *segment_anchors:string sharding_degree:int32
    mp_degree:int32 dp_degree:int32 hybrid_dp:bool gradient_merge_acc_step:int32 optimize_offload:bool
    pp_allreduce_in_optimize:bool pp_degree:int32 optimize_cast:bool _dp_as_optimizer_sharding:bool stage:int32
    enable_tuning:bool use_calc_stream:bool
HybridConfig: dp_degree:int32 mp_degree:int32 pp_degree:int32 sharding_degree:int32 sep_degree:int32 mp_configs:MpConfig
    pp_configs:PpConfig sharding_configs:DygraphShardingConfig
MpConfig: sync_param:bool sync_grad:bool sync_moment:bool sync_mode:string mp_async_allreduce:bool mp_skip_c_identity:bool
    mp_fused_linear_param_grad_add:bool need_broadcast_data:bool
PpConfig: dp_comm_overlap:bool delay_scale_loss:bool enable_timer:bool sharding_comm_overlap:bool profiling:bool
DygraphShardingConfig: tensor_fusion:bool accumulate_steps:int32 comm_overlap:bool split_param:bool fuse_optimizer:bool
TensorParallelConfig: tensor_parallel_degree:int32 tensor_init_seed:int32
TrainerDescConfig: dump_fields_path:string *dump_fields:string *dump_param:string *stat_var_names:string trainer:string
    device_worker:string *local_sparse:string *remote_sparse:string
TableParameter: table_id:uint64 table_name:string table_class:string shard_num:uint64 type:word
    accessor:TableAccessorParameter compress_in_save:bool enable_sparse_table_cache:bool sparse_table_cache_rate:double
    sparse_table_cache_file_num:uint32 enable_revert:bool shard_merge_rate:float
TableAccessorParameter: accessor_class:string fea_dim:uint32 embedx_dim:uint32 embedx_threshold:uint32
    ctr_accessor_param:CtrAccessorParameter *table_accessor_save_param:TableAccessorSaveParameter embed_sgd_param:SGDParameter
    embedx_sgd_param:SGDParameter graph_sgd_param:GraphSGDParameter
CtrAccessorParameter: nonclk_coeff:float click_coeff:float base_threshold:float delta_threshold:float delta_keep_days:float
    show_click_decay_rate:float delete_threshold:float delete_after_unseen_days:float ssd_unseenday_threshold:int32
    show_scale:bool zero_init:bool *load_filter_slots:float *save_filter_slots:float
TableAccessorSaveParameter: param:uint32 converter:string deconverter:string
SGDParameter: name:string naive:SparseNaiveSGDRuleParameter adagrad:SparseAdagradSGDRuleParameter adam:SparseAdamSGDParameter
SparseNaiveSGDRuleParameter: learning_rate:double initial_range:double *weight_bounds:float
SparseAdagradSGDRuleParameter: learning_rate:double initial_g2sum:double initial_range:double *weight_bounds:float
SparseAdamSGDParameter: learning_rate:double initial_range:double beta1_decay_rate:double beta2_decay_rate:double
    ada_epsilon:double *weight_bounds:float
GraphSGDParameter: nodeid_slot:uint32 feature_learning_rate:float
FsClientParameter: uri:string user:string passwd:string hadoop_bin:string
QatConfig: channel_wise_abs_max:bool weight_bits:int32 activation_bits:int32 *not_quant_pattern:string algo:string
BuildStrategy: enable_sequential_execution:bool fuse_elewise_add_act_ops:bool fuse_bn_act_ops:bool
    fuse_relu_depthwise_conv:bool fuse_broadcast_ops:bool fuse_all_optimizer_ops:bool enable_inplace:bool
    enable_backward_optimizer_op_deps:bool cache_runtime_context:bool fuse_bn_add_act_ops:bool enable_auto_fusion:bool
    enable_addto:bool fix_op_run_order:bool allow_cuda_graph_capture:bool reduce_strategy:int32 fuse_gemm_epilogue:bool
    debug_graphviz_path:string fused_attention:bool fused_feedforward:bool
ExecutionStrategy: num_threads:int32 num_iteration_per_drop_scope:int32 num_iteration_per_run:int32 use_thread_barrier:bool
GradientScaleConfig: scale_strategy:string scale_gradient:bool
"""


def _schema(text):
    out, fields = {}, None
    for line in text.strip().split("\n"):
        if not line.startswith(" "):
            name, line = line.split(":", 1)
            fields = out.setdefault(name, {})
        for word in line.split():
            field, kind = word.lstrip("*").split(":")
            fields[field] = kind, word.startswith("*")
    return out


MESSAGES = _schema(_MESSAGES)
TABLES = "downpour_table_param"
#: names of fields that differ from those of attributes
_ATTRIBUTES = {"with_coordinator": "is_with_coordinator", TABLES: "sparse_table_configs"}


# ---- writing ----


def _scalar(kind, value):
    if kind == "bool":
        return "true" if value else "false"
    if kind == "string":
        return '"%s"' % str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if kind in ("float", "double"):
        return "%d" % value if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    return str(value) if kind == "word" else "%d" % value


def _write(message, values, indent):
    """Lines of a message: values by field, None for those that are not set."""
    lines = []
    for field, (kind, many) in MESSAGES[message].items():
        value = values.get(field)
        for one in (value if many and isinstance(value, (list, tuple)) else [] if value is None else [value]):
            if kind in MESSAGES:
                lines += ["%s%s {" % (indent, field)] + _write(kind, one, indent + "  ") + [indent + "}"]
            else:
                lines.append("%s%s: %s" % (indent, field, _scalar(kind, one)))
    return lines


def _nested(table):
    """Settings of a table by path as nested values."""
    out = {"table_name": table.table_name}
    for path, value in table.values.items():
        words, where, message = path.split("."), out, "TableParameter"
        for word in words[:-1]:
            kind, many = MESSAGES[message].get(word, (None, False)) if not word.isdigit() else (message, False)
            if word.isdigit():
                while len(where) <= int(word):
                    where.append({})
                where = where[int(word)]
            elif kind not in MESSAGES:
                break
            else:
                where, message = where.setdefault(word, [] if many else {}), kind
        else:
            where[words[-1]] = value
    return out


def to_text(strategy, given):
    """The text of a strategy; given: {attribute: keys of its dict that were set, or None for all of it}."""
    values = {}
    for field, (kind, _) in MESSAGES["DistributedStrategy"].items():
        name = _ATTRIBUTES.get(field, field)
        if name not in given:
            continue
        value = getattr(strategy, name)
        if field == TABLES:
            value = [_nested(table) for table in value]
        elif kind in MESSAGES:
            value = _fields(kind, value, given[name])
        values[field] = value
    return "".join(line + "\n" for line in _write("DistributedStrategy", values, ""))


def _fields(message, value, keys):
    """A dict, or an object with these attributes, as a dict of the message's fields."""
    if not isinstance(value, dict):
        value = {name: getattr(value, name) for name in MESSAGES[message] if hasattr(value, name)}
        keys = None
    return {key: v for key, v in value.items() if keys is None or key in keys}


# ---- reading ----

_TOKEN = re.compile(r"""\s*(?:\#[^\n]*\n\s*)*(?:(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<mark>[{}:<>,;\[\]])|"""
                    r"""(?P<word>[^\s{}:<>,;\[\]"'\#]+))""")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class _Reader(object):
    def __init__(self, text, path):
        self._path, self._at, self._tokens, end = path, 0, [], 0
        while text[end:].strip():
            found = _TOKEN.match(text, end)
            if found is None:
                if not re.sub(r"\#[^\n]*", "", text[end:]).strip():
                    break
                self._line = text.count("\n", 0, end) + 1
                self._fail("not a token: %r" % text[end:end + 20].strip())
            end = found.end()
            self._tokens.append((found.group(found.lastgroup), found.lastgroup, text.count("\n", 0, end) + 1))

    def _fail(self, why):
        raise ValueError("%s:%d: %s" % (self._path, self._line, why))

    def _peek(self):
        return self._tokens[self._at][0] if self._at < len(self._tokens) else None

    def _next(self, expected=None):
        if self._at == len(self._tokens):
            self._line = self._tokens[-1][2] if self._tokens else 1
            self._fail("the file ends; expected %s" % (expected or "a value"))
        token, kind, self._line = self._tokens[self._at]
        self._at += 1
        if expected is not None and token != expected:
            self._fail("expected %s, found %s" % (expected, token))
        return token, kind

    def message(self, name, end=None):
        """Values by field until the token `end`."""
        out = {}
        while self._peek() != end:
            field, _ = self._next()
            if field not in MESSAGES[name]:
                self._fail('Message type "%s" has no field named "%s"' % (name, field))
            kind, many = MESSAGES[name][field]
            value = self._value(field, kind)
            if many:
                out.setdefault(field, []).extend(value if isinstance(value, list) else [value])
            else:
                out[field] = value
            if self._peek() in (",", ";"):
                self._next()
        return out

    def _value(self, field, kind):
        if kind in MESSAGES:
            if self._peek() == ":":
                self._next()
            mark, _ = self._next()
            if mark not in ("{", "<"):
                self._fail("%s: expected {, found %s" % (field, mark))
            out = self.message(kind, "}" if mark == "{" else ">")
            self._next()
            return out
        self._next(":")
        if self._peek() != "[":
            return self._scalar(field, kind)
        self._next()
        out = []
        while self._peek() != "]":
            out.append(self._scalar(field, kind))
            if self._peek() == ",":
                self._next()
        self._next()
        return out

    def _scalar(self, field, kind):
        token, what = self._next()
        if kind == "string":
            if what != "text":
                self._fail("%s: expected text in quotes, found %s" % (field, token))
            return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(1)), token[1:-1])
        if kind == "bool":
            if token not in ("true", "false", "True", "False", "t", "f", "1", "0"):
                self._fail("%s: expected true or false, found %s" % (field, token))
            return token in ("true", "True", "t", "1")
        if kind == "word":
            return token
        try:
            return float(token) if kind in ("float", "double") else int(token, 0)
        except ValueError:
            self._fail("%s: expected a%s number, found %s" % (field, "" if kind in ("float", "double") else " whole", token))


def _paths(value, prefix, out):
    for key, one in value.items():
        if isinstance(one, dict):
            _paths(one, prefix + key + ".", out)
        elif isinstance(one, list) and one and isinstance(one[0], dict):
            for i, item in enumerate(one):
                _paths(item, "%s%s.%d." % (prefix, key, i), out)
        else:
            out[prefix + key] = one
    return out


def from_text(text, path):
    """{attribute: value} of a file's text; tables as a list of TableParameters."""
    out = {}
    for field, value in _Reader(text, path).message("DistributedStrategy").items():
        if field == TABLES:
            value = [TableParameter(table.pop("table_name", ""), _paths(table, "", {})) for table in value]
        out[_ATTRIBUTES.get(field, field)] = value
    return out
