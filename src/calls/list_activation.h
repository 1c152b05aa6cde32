/* paddle.nn.functional: activations. Notation: calls/row.h. */
FUNCTION("nn.functional.relu", "x, name=None", "relu: X=x", "relu of every element.")
FUNCTION("nn.functional.softsign", "x, name=None", "softsign: X=x", "softsign of every element.")
FUNCTION("nn.functional.silu", "x, name=None", "silu: X=x", "silu of every element.")
FUNCTION("nn.functional.log_sigmoid", "x, name=None", "logsigmoid: X=x",
         "log_sigmoid of every element.")
FUNCTION("nn.functional.hardswish", "x, name=None", "hard_swish: X=x",
         "hardswish of every element.")
FUNCTION("nn.functional.tanhshrink", "x, name=None", "tanh_shrink: X=x",
         "tanhshrink of every element.")
FUNCTION("nn.functional.relu6", "x, name=None", "relu6: X=x", "min(max(0, x), 6)")
FUNCTION("nn.functional.swish", "x, name=None", "swish: X=x", "x * sigmoid(x)")
FUNCTION("nn.functional.mish", "x, name=None", "mish: X=x", "x * tanh(softplus(x))")
FUNCTION("nn.functional.leaky_relu", "x, negative_slope=0.01, name=None",
         "leaky_relu: X=x alpha=negative_slope", "x, or negative_slope * x below zero.")
FUNCTION("nn.functional.elu", "x, alpha=1.0, name=None", "elu: X=x alpha=alpha",
         "x, or alpha * (exp(x) - 1) below zero.")
FUNCTION("nn.functional.selu",
         "x, scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717, "
         "name=None",
         "selu: X=x scale=scale alpha=alpha above(scale,1.0,'scale') not_negative(alpha,'alpha')",
         "scale * elu(x, alpha)")
FUNCTION("nn.functional.gelu", "x, approximate=False, name=None",
         "gelu: X=x approximate=approximate", "x * Phi(x); approximate: by tanh.")
FUNCTION("nn.functional.softplus", "x, beta=1, threshold=20, name=None",
         "softplus: X=x beta=beta threshold=threshold", "log(1 + exp(beta * x)) / beta")
FUNCTION("nn.functional.hardsigmoid", "x, slope=0.1666667, offset=0.5, name=None",
         "hard_sigmoid: X=x slope=slope offset=offset", "slope * x + offset, between 0 and 1.")
FUNCTION("nn.functional.hardtanh", "x, min=-1.0, max=1.0, name=None",
         "brelu: X=x t_min=min t_max=max", "x between min and max.")
FUNCTION("nn.functional.hardshrink", "x, threshold=0.5, name=None",
         "hard_shrink: X=x threshold=threshold", "x, or 0 within +-threshold.")
FUNCTION("nn.functional.softshrink", "x, threshold=0.5, name=None",
         "softshrink: X=x lambda=threshold not_negative(threshold,'threshold')",
         "x drawn to zero by threshold.")
FUNCTION("nn.functional.thresholded_relu", "x, threshold=1.0, name=None",
         "thresholded_relu: X=x threshold=threshold", "x above the threshold, else 0.")
FUNCTION("nn.functional.softmax", "x, axis=-1, dtype=None, name=None",
         "cast: X=x in_dtype=dtype_of(x) out_dtype=dtype(dtype) if dtype; "
         "softmax: X=. axis=axis use_cudnn=True",
         "exp(x) / sum(exp(x)) along the axis.")
FUNCTION("nn.functional.log_softmax", "x, axis=-1, dtype=None, name=None",
         "cast: X=x in_dtype=dtype_of(x) out_dtype=dtype(dtype) if dtype; "
         "log_softmax: X=. axis=axis",
         "log of softmax.")
FUNCTION("nn.functional.gumbel_softmax", "x, temperature=1.0, hard=False, axis=-1, name=None",
         "gumbel_softmax: X=x temperature=temperature hard=hard axis=axis",
         "softmax of x with Gumbel noise, by the temperature; hard: a one at the largest.")
FUNCTION("nn.functional.celu", "x, alpha=1.0, name=None",
         "celu: X=x alpha=alpha nonzero(alpha,'alpha')",
         "max(0, x) + min(0, alpha * (exp(x / alpha) - 1))")
FUNCTION("nn.functional.maxout", "x, groups, axis=1, name=None",
         "maxout: X=x groups=groups axis=channels(x,axis)",
         "The largest of every `groups` neighbouring channels; of equal ones the first learns.")
FUNCTION("nn.functional.prelu", "x, weight, data_format='NCHW', name=None",
         "prelu: X=x Alpha=weight known_format(data_format) mode=weights(x,weight,data_format) "
         "data_format=layout(data_format)",
         "x, or weight * x below zero; one weight, or one per channel.")
FUNCTION("nn.functional.glu", "x, axis=-1, name=None",
         "halved(x,axis); call chunk: x=x chunks=2 axis=axis keep first second; call sigmoid: "
         "x=second; call multiply: x=first y=. name=name",
         "The first half times sigmoid of the second.")
