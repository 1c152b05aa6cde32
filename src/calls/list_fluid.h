/* paddle.fluid.layers (nn.py): functions of programs. Notation: calls/row.h. */
FUNCTION("fluid.layers.relu", "x, name=None",
         "layer relu: types(x,'x','float16 float32 float64') x=x unless name; relu: "
         "types(x,'x','float16 float32 float64') X=x if name",
         "max(x, 0)")
FUNCTION("fluid.layers.log", "x, name=None",
         "layer log: types(x,'x','float32 float64') x=x unless name; log: "
         "types(x,'x','float32 float64') X=x if name",
         "Natural logarithm.")
FUNCTION("fluid.layers.log1p", "x, out=None, name=None",
         "log1p: types(x,'x','float32 float64') X=x -> Out=out", "log(1 + x)")
FUNCTION("fluid.layers.leaky_relu", "x, alpha=0.02, name=None",
         "layer leaky_relu: types(x,'x','float16 float32 float64') x=x alpha=alpha name=name",
         "x, or alpha * x below 0.")
FUNCTION("fluid.layers.elu", "x, alpha=1.0, name=None",
         "layer elu: types(x,'x','float16 float32 float64') x=x alpha=alpha name=name",
         "x, or alpha * (exp(x) - 1) below 0.")
FUNCTION("fluid.layers.selu", "x, scale=None, alpha=None, name=None",
         "selu: types(x,'x','float32 float64') X=x scale=scale alpha=alpha",
         "scale * elu with fixed numbers.")
FUNCTION("fluid.layers.relu6", "x, threshold=6.0, name=None",
         "layer relu6: types(x,'x','float16 float32 float64') x=x threshold=threshold name=name",
         "Between 0 and the threshold.")
FUNCTION("fluid.layers.brelu", "x, t_min=0.0, t_max=24.0, name=None",
         "brelu: types(x,'x','float16 float32 float64') X=x t_min=t_min t_max=t_max",
         "Between t_min and t_max.")
FUNCTION("fluid.layers.hard_sigmoid", "x, slope=0.2, offset=0.5, name=None",
         "layer hard_sigmoid: types(x,'x','float16 float32 float64') x=x slope=slope "
         "offset=offset name=name",
         "slope * x + offset between 0 and 1.")
FUNCTION("fluid.layers.hard_swish", "x, threshold=6.0, scale=6.0, offset=3.0, name=None",
         "hard_swish: types(x,'x','float16 float32 float64') X=x threshold=threshold "
         "scale=scale offset=offset",
         "x * min(max(x + offset, 0), threshold) / scale")
FUNCTION("fluid.layers.swish", "x, beta=1.0, name=None",
         "layer swish: types(x,'x','float16 float32 float64') x=x beta=beta name=name",
         "x * sigmoid(beta * x)")
FUNCTION("fluid.layers.stanh", "x, scale_a=0.67, scale_b=1.7159, name=None",
         "stanh: types(x,'x','float16 float32 float64') X=x scale_a=scale_a scale_b=scale_b",
         "scale_b * tanh(scale_a * x)")
FUNCTION("fluid.layers.softshrink", "x, alpha=0.5",
         "softshrink: types(x,'x','float16 float32 float64') X=x lambda=alpha",
         "x moved towards 0 by alpha.")
FUNCTION("fluid.layers.pow", "x, factor=1.0, name=None",
         "layer pow: types(x,'x','int32 int64 float32 float64') x=x factor=factor "
         "factor_var=factor name=name",
         "x to the factor, a number or a Variable.")
FUNCTION("fluid.layers.prelu", "x, mode, param_attr=None, name=None",
         "layer prelu: types(x,'x','float16 float32 float64') one_of(mode,'all channel "
         "element','mode should be one of all, channel, element.') x=x mode=mode "
         "param_attr=param_attr name=name",
         "leaky_relu with learned slopes; mode: all, channel, element.")
FUNCTION("fluid.layers.softmax", "input, use_cudnn=False, name=None, axis=-1",
         "layer softmax: types(input,'input/x','float16 float32 float64') x=input axis=axis "
         "use_cudnn=use_cudnn name=name",
         "exp(x) / sum(exp(x)) along the axis.")
FUNCTION("fluid.layers.scale", "x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None",
         "layer scale: x=x scale=scale scale_var=scale bias=bias "
         "bias_before_scale=not(bias_after_scale) act=act name=name",
         "scale * x + bias, or scale * (x + bias).")
FUNCTION("fluid.layers.clip", "x, min, max, name=None",
         "layer clip: types(x,'x','float32 float64') x=x min=min max=max name=name",
         "Between min and max.")
FUNCTION("fluid.layers.clamp", "input, min=None, max=None, output=None, name=None",
         "clip: either(min,max,'either min or max should be defined.') X=input "
         "min=or(min,-3.4028234663852886e+38) max=or(max,3.4028234663852886e+38) -> Out=output "
         "as clip",
         "clip with open ends.")
FUNCTION("fluid.layers.clip_by_norm", "x, max_norm, name=None",
         "layer clip_by_norm: types(x,'x','float32') x=x max_norm=max_norm name=name",
         "Shrunk so that its norm is at most max_norm.")
FUNCTION("fluid.layers.elementwise_add", "x, y, axis=-1, act=None, name=None",
         "layer elementwise_add: x=x y=y axis=axis act=act name=name",
         "add of two variables; the smaller one stands at `axis` of the larger (-1: at its end).")
FUNCTION("fluid.layers.elementwise_sub", "x, y, axis=-1, act=None, name=None",
         "layer elementwise_sub: x=x y=y axis=axis act=act name=name",
         "sub of two variables; the smaller one stands at `axis` of the larger (-1: at its end).")
FUNCTION("fluid.layers.elementwise_mul", "x, y, axis=-1, act=None, name=None",
         "layer elementwise_mul: x=x y=y axis=axis act=act name=name",
         "mul of two variables; the smaller one stands at `axis` of the larger (-1: at its end).")
FUNCTION("fluid.layers.elementwise_div", "x, y, axis=-1, act=None, name=None",
         "layer elementwise_div: x=x y=y axis=axis act=act name=name",
         "div of two variables; the smaller one stands at `axis` of the larger (-1: at its end).")
FUNCTION("fluid.layers.elementwise_max", "x, y, axis=-1, act=None, name=None",
         "layer elementwise_max: x=x y=y axis=axis act=act name=name",
         "max of two variables; the smaller one stands at `axis` of the larger (-1: at its end).")
FUNCTION("fluid.layers.elementwise_min", "x, y, axis=-1, act=None, name=None",
         "layer elementwise_min: x=x y=y axis=axis act=act name=name",
         "min of two variables; the smaller one stands at `axis` of the larger (-1: at its end).")
FUNCTION("fluid.layers.elementwise_pow", "x, y, axis=-1, act=None, name=None",
         "layer elementwise_pow: x=x y=y axis=axis act=act name=name",
         "pow of two variables; the smaller one stands at `axis` of the larger (-1: at its end).")
FUNCTION("fluid.layers.elementwise_mod", "x, y, axis=-1, act=None, name=None",
         "layer elementwise_mod: x=x y=y axis=axis act=act name=name",
         "mod of two variables; the smaller one stands at `axis` of the larger (-1: at its end).")
FUNCTION("fluid.layers.elementwise_floordiv", "x, y, axis=-1, act=None, name=None",
         "layer elementwise_floordiv: x=x y=y axis=axis act=act name=name",
         "floordiv of two variables; the smaller one stands at `axis` of the larger (-1: at "
         "its end).")
FUNCTION("fluid.layers.logical_and", "x, y, out=None, name=None",
         "layer logical_and: types(x,'x','bool') types(y,'y','bool') x=x y=y out=out",
         "and of two bool variables.")
FUNCTION("fluid.layers.logical_or", "x, y, out=None, name=None",
         "layer logical_or: types(x,'x','bool') types(y,'y','bool') x=x y=y out=out",
         "or of two bool variables.")
FUNCTION("fluid.layers.logical_xor", "x, y, out=None, name=None",
         "layer logical_xor: types(x,'x','bool') types(y,'y','bool') x=x y=y out=out",
         "xor of two bool variables.")
FUNCTION("fluid.layers.logical_not", "x, out=None, name=None",
         "layer logical_not: types(x,'x','bool') x=x out=out", "not of a bool variable.")
FUNCTION("fluid.layers.matmul", "x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None",
         "layer matmul: types(x,'x','float16 float32 float64') types(y,'y','float16 float32 "
         "float64') x=x y=y transpose_x=transpose_x transpose_y=transpose_y alpha=alpha "
         "name=name",
         "Products of the last two dimensions.")
FUNCTION("fluid.layers.mul", "x, y, x_num_col_dims=1, y_num_col_dims=1, name=None",
         "layer mul: types(x,'x','float16 float32 float64') types(y,'y','float16 float32 "
         "float64') x=x y=y x_num_col_dims=x_num_col_dims y_num_col_dims=y_num_col_dims "
         "name=name",
         "Product of two matrices that x and y are flattened to.")
FUNCTION("fluid.layers.dot", "x, y, name=None", "layer dot: x=x y=y name=name",
         "Products of rows, summed.")
FUNCTION("fluid.layers.bmm", "x, y, name=None", "bmm: X=x Y=y",
         "Products of the matrices of two batches.")
FUNCTION("fluid.layers.cos_sim", "X, Y",
         "layer cos_sim: types(X,'X','float32') types(Y,'Y','float32') x=X y=Y",
         "Cosine of each row of X with that of Y.")
FUNCTION("fluid.layers.bilinear_tensor_product",
         "x, y, size, act=None, name=None, param_attr=None, bias_attr=None",
         "layer bilinear_tensor_product: x=x y=y size=size act=act name=name "
         "param_attr=param_attr bias_attr=bias_attr",
         "x W_i y for every i below size.")
FUNCTION("fluid.layers.mean", "x, name=None",
         "layer mean: types(x,'x','float16 float32 float64') x=x name=name",
         "The mean of everything, shape [1].")
FUNCTION("fluid.layers.reduce_sum", "input, dim=None, keep_dim=False, name=None",
         "layer reduce_sum: types(input,'input','float32 float64 int32 int64') x=input dim=dim "
         "keep_dim=keep_dim name=name",
         "sum over dimensions (None: all).")
FUNCTION("fluid.layers.reduce_mean", "input, dim=None, keep_dim=False, name=None",
         "layer reduce_mean: types(input,'input','float32 float64 int32 int64') x=input "
         "dim=dim keep_dim=keep_dim name=name",
         "mean over dimensions (None: all).")
FUNCTION("fluid.layers.reduce_max", "input, dim=None, keep_dim=False, name=None",
         "layer reduce_max: types(input,'input','float32 float64 int32 int64') x=input dim=dim "
         "keep_dim=keep_dim name=name",
         "max over dimensions (None: all).")
FUNCTION("fluid.layers.reduce_min", "input, dim=None, keep_dim=False, name=None",
         "layer reduce_min: types(input,'input','float32 float64 int32 int64') x=input dim=dim "
         "keep_dim=keep_dim name=name",
         "min over dimensions (None: all).")
FUNCTION("fluid.layers.reduce_prod", "input, dim=None, keep_dim=False, name=None",
         "layer reduce_prod: types(input,'input','float32 float64 int32 int64') x=input "
         "dim=dim keep_dim=keep_dim name=name",
         "prod over dimensions (None: all).")
FUNCTION("fluid.layers.reduce_all", "input, dim=None, keep_dim=False, name=None",
         "layer reduce_all: types(input,'input','bool') x=input dim=dim keep_dim=keep_dim "
         "name=name",
         "all over dimensions (None: all).")
FUNCTION("fluid.layers.reduce_any", "input, dim=None, keep_dim=False, name=None",
         "layer reduce_any: types(input,'input','bool') x=input dim=dim keep_dim=keep_dim "
         "name=name",
         "any over dimensions (None: all).")
FUNCTION("fluid.layers.sum", "x", "layer sums: x=x", "The sum of a list of variables.")
FUNCTION("fluid.layers.l2_normalize", "x, axis, epsilon=1e-12, name=None",
         "layer l2_normalize: x=x axis=or(axis,1) epsilon=epsilon name=name",
         "Divided by its norm along an axis.")
FUNCTION("fluid.layers.logsumexp", "x, dim=None, keepdim=False, out=None, name=None",
         "layer exp: x=x; call fluid.layers.reduce_sum: input=. dim=dim keep_dim=keepdim; layer "
         "log: x=.; "
         "layer assign: input=. output=out if out",
         "log of the sum of exp.")
FUNCTION("fluid.layers.flatten", "x, axis=1, name=None",
         "layer flatten: within_rank(x,axis,'The axis should be a int, and in range [0, "
         "rank(x)]') x=x axis=axis name=name",
         "A matrix: dimensions before axis are rows.")
FUNCTION("fluid.layers.squeeze", "input, axes, name=None",
         "layer squeeze: a_list(axes) x=input axes=axes name=name", "Without dimensions of size 1.")
FUNCTION("fluid.layers.unsqueeze", "input, axes, name=None",
         "layer unsqueeze: x=input axes=axes name=name", "New dimensions of size 1.")
FUNCTION("fluid.layers.transpose", "x, perm, name=None",
         "layer transpose: a_list(perm) x=x perm=order(x,perm) name=name",
         "Dimensions in another order.")
FUNCTION("fluid.layers.t", "input, name=None",
         "layer transpose: only_matrix(input) x=input perm=[1,0] name=name if matrix(input)",
         "The transpose of a matrix; a vector stays.")
FUNCTION("fluid.layers.split", "input, num_or_sections, dim=-1, name=None",
         "layer split: whole_or_list(num_or_sections,'num_or_sections') x=input "
         "num=parts(num_or_sections) sections=sections(num_or_sections) "
         "dim=dim",
         "A list of pieces: a number of equal ones, or of given sizes.")
FUNCTION("fluid.layers.stack", "x, axis=0", "layer stack: x=x axis=axis",
         "Joined along a new axis.")
FUNCTION("fluid.layers.unstack", "x, axis=0, num=None",
         "layer unstack: x=x axis=axis num=size(x,axis,num)", "A list of the slices along an axis.")
FUNCTION("fluid.layers.shape", "input", "layer shape: x=input", "The shape as an int32 variable.")
FUNCTION("fluid.layers.size", "input", "size: Input=input",
         "The number of elements as an int64 variable.")
FUNCTION("fluid.layers.gather", "input, index, overwrite=True",
         "layer gather: types(index,'index','int32 int64') x=input index=index "
         "add_duplicates=not(overwrite)",
         "Rows by index.")
FUNCTION("fluid.layers.gather_nd", "input, index, name=None",
         "layer gather_nd: x=input index=index name=name",
         "Elements or slices by a list of positions.")
FUNCTION("fluid.layers.scatter", "input, index, updates, name=None, overwrite=True",
         "layer scatter: x=input index=index updates=updates add=not(overwrite) name=name",
         "A copy with rows replaced, or added to.")
FUNCTION("fluid.layers.index_select", "input, index, dim=0",
         "index_select: X=input Index=index dim=dim", "Slices by index along a dimension.")
FUNCTION("fluid.layers.where", "condition",
         "where_index: types(condition,'condition','bool int32 int64 float32 float64') "
         "Condition=condition as where_index",
         "Positions of the true elements (int64 [n, rank]).")
FUNCTION("fluid.layers.one_hot", "input, depth, allow_out_of_range=False",
         "layer one_hot: types(input,'input','int32 int64') x=input depth=depth "
         "allow_out_of_range=allow_out_of_range",
         "Rows with a 1 at the id; the ids end with a dimension of 1.")
FUNCTION("fluid.layers.topk", "input, k, name=None",
         "layer topk: x=input k=k name=name if number(k); top_k: X=input K=k -> Out "
         "Indices:int64! as top_k if tensor(k)",
         "(the k largest of each row, their positions)")
FUNCTION("fluid.layers.tril", "input, diagonal=0, name=None",
         "tril_triu: X=input diagonal=diagonal lower=True as tril_triu", "The lower triangle.")
FUNCTION("fluid.layers.triu", "input, diagonal=0, name=None",
         "tril_triu: X=input diagonal=diagonal lower=False as tril_triu", "The upper triangle.")
FUNCTION("fluid.layers.get_tensor_from_selected_rows", "x, name=None",
         "layer get_tensor_from_selected_rows: x=x name=name", "The values of SelectedRows.")
FUNCTION("fluid.layers.merge_selected_rows", "x, name=None",
         "layer merge_selected_rows: x=x name=name", "Repeated rows of SelectedRows added up.")
FUNCTION("fluid.layers.sampling_id", "x, min=0.0, max=1.0, seed=0, dtype='float32'",
         "layer sampling_id: x=x min=min max=max seed=seed dtype=dtype",
         "One position per row, drawn by the row's probabilities.")
FUNCTION("fluid.layers.full_like",
         "input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None",
         "fill_any_like: unused(device) X=input value=value(fill_value) "
         "dtype=dtype(dtype,input) -> Out=out aside full_like; stops(stop_gradient) unless out",
         "The input's shape full of one value.")
FUNCTION("fluid.layers.hash", "input, hash_size, num_hash=1, name=None",
         "layer hash: types(input,'input','int32 int64') x=input hash_size=hash_size "
         "num_hash=num_hash name=name",
         "XXH64 of every row of ids, num_hash times, modulo hash_size.")
FUNCTION("fluid.layers.autoincreased_step_counter", "counter_name=None, begin=1, step=1",
         "layer autoincreased_step_counter: name=counter_name begin=begin step=step",
         "A variable that counts the runs of the program.")
FUNCTION("fluid.layers.dropout",
         "x, dropout_prob, is_test=False, seed=None, name=None, "
         "dropout_implementation='downgrade_in_infer'",
         "layer dropout: types(x,'x','float16 float32 float64') x=x prob=dropout_prob "
         "is_test=is_test seed=seed implementation=dropout_implementation name=name",
         "Elements set to 0 with a probability, in training.")
FUNCTION("fluid.layers.batch_norm",
         "input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, "
         "bias_attr=None, data_layout='NCHW', in_place=False, name=None, "
         "moving_mean_name=None, moving_variance_name=None, "
         "do_model_average_for_mean_and_var=True, use_global_stats=False",
         "layer batch_norm: types(input,'input','float16 float32 float64') "
         "some_param(bias_attr,'bias_attr should not be False in batch_norm.') x=input act=act "
         "is_test=is_test momentum=momentum momentum_var=momentum epsilon=epsilon "
         "param_attr=param_attr bias_attr=bias_attr data_layout=data_layout in_place=in_place "
         "name=name moving_mean_name=moving_mean_name "
         "moving_variance_name=moving_variance_name "
         "no_model_average=not(do_model_average_for_mean_and_var) "
         "use_global_stats=use_global_stats",
         "Channels made to have mean 0 and deviation 1, then scaled and shifted.")
FUNCTION("fluid.layers.layer_norm",
         "input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None, "
         "bias_attr=None, act=None, name=None",
         "layer layer_norm: types(input,'input','float32 float64') x=input no_scale=not(scale) "
         "no_shift=not(shift) begin_norm_axis=begin_norm_axis epsilon=epsilon "
         "param_attr=param_attr bias_attr=bias_attr act=act name=name",
         "Rows made to have mean 0 and deviation 1, then scaled and shifted.")
FUNCTION("fluid.layers.dynamic_gru",
         "input, size, param_attr=None, bias_attr=None, is_reverse=False, "
         "gate_activation='sigmoid', candidate_activation='tanh', h_0=None, origin_mode=False",
         "layer dynamic_gru: types(input,'input','float32 float64') x=input size=size "
         "param_attr=param_attr bias_attr=bias_attr is_reverse=is_reverse "
         "gate_activation=gate_activation candidate_activation=candidate_activation h_0=h_0 "
         "origin_mode=origin_mode",
         "A GRU over each sequence; input has 3 * size columns.")
FUNCTION("fluid.layers.gru_unit",
         "input, hidden, size, param_attr=None, bias_attr=None, activation='tanh', "
         "gate_activation='sigmoid', origin_mode=False",
         "layer gru_unit: x=input hidden=hidden size=size param_attr=param_attr "
         "bias_attr=bias_attr candidate_activation=activation gate_activation=gate_activation "
         "origin_mode=origin_mode",
         "One step: (hidden, reset hidden, gates).")
FUNCTION("fluid.layers.dynamic_lstm",
         "input, size, h_0=None, c_0=None, param_attr=None, bias_attr=None, "
         "use_peepholes=True, is_reverse=False, gate_activation='sigmoid', "
         "cell_activation='tanh', candidate_activation='tanh', dtype='float32', name=None",
         "layer dynamic_lstm: types(input,'input','float32 float64') "
         "some_param(bias_attr,'bias_attr should not be False in dynamic_lstm.') x=input "
         "size=size h_0=h_0 c_0=c_0 param_attr=param_attr bias_attr=bias_attr "
         "no_peepholes=not(use_peepholes) is_reverse=is_reverse "
         "gate_activation=gate_activation cell_activation=cell_activation "
         "candidate_activation=candidate_activation dtype=dtype name=name",
         "An LSTM over each sequence: (hidden, cell); input has `size` = 4 * hidden columns.")
