/* paddle.nn.functional: normalization. Notation: calls/row.h. */
#define BATCH_NORM                                                                          \
    "batch_norm: has_channels(x) known_format(data_format) X=x Mean=running_mean "          \
    "Variance=running_var Scale=weight Bias=bias momentum=momentum epsilon=epsilon "        \
    "is_test=not(training) data_layout=layout(data_format) "                                \
    "use_global_stats=global_stats(training,use_global_stats) "                             \
    "trainable_statistics=own_stats(use_global_stats) fuse_with_relu=False -> SavedMean!~ " \
    "SavedVariance!~ Y MeanOut~=running_mean VarianceOut~=running_var "
#define INSTANCE_NORM(terms) \
    "instance_norm: X=x " terms " epsilon=eps -> SavedMean!~ SavedVariance!~ Y "
FUNCTION("nn.functional.layer_norm",
         "x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None",
         "layer_norm: X=x Scale=weight Bias=bias epsilon=epsilon "
         "begin_norm_axis=norm_begin(x,normalized_shape) -> Mean!~ Variance!~ Y",
         "Over the last dimensions: mean 0, variance 1, times weight, plus bias.")
FUNCTION("nn.functional.batch_norm",
         "x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.9, "
         "epsilon=1e-05, data_format='NCHW', use_global_stats=None, name=None",
         BATCH_NORM
         "ReserveSpace!~ if program() if learns(training,use_global_stats) keep y; " BATCH_NORM
         "unless y; give y if y",
         "Over the batch (training) or by the running mean and variance.")
FUNCTION("nn.functional.group_norm",
         "x, num_groups, epsilon=1e-05, weight=None, bias=None, data_format='NCHW', name=None",
         "group_norm: X=x Scale=weight Bias=bias epsilon=epsilon groups=num_groups "
         "data_layout=last_layout(data_format) -> Mean!~ Variance!~ Y",
         "Over the channels of a group and all positions.")
FUNCTION("nn.functional.instance_norm",
         "x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
         "momentum=0.9, eps=1e-05, data_format='NCHW', name=None",
         INSTANCE_NORM("Scale=weight Bias=bias") "if weight if bias keep y; " INSTANCE_NORM(
             "") "unless y; give y if y",
         "Over the positions of every row and channel.")
FUNCTION("nn.functional.normalize", "x, p=2, axis=1, epsilon=1e-12, name=None",
         "p_norm: norm_axis(x,axis) X=x axis=axis porder=p keepdim=True epsilon=epsilon aside "
         "p_norm keep size; call clip: x=size min=epsilon keep least if eager(); call full: "
         "shape=[1] fill_value=epsilon dtype=dtype_of(size) keep least if program(); call maximum: "
         "x=size y=least keep least if program(); call divide: x=x y=least name=name",
         "x / max(|x|_p, epsilon) along the axis.")
#undef BATCH_NORM
#undef INSTANCE_NORM
