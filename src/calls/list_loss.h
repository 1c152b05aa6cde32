/* paddle.nn.functional: losses. Notation: calls/row.h. */
#define REDUCED_BY(arguments)                                                          \
    "; call mean: x=. " arguments " if is(reduction,'mean'); call sum: x=. " arguments \
    " if is(reduction,'sum')"
FUNCTION("nn.functional.log_loss", "input, label, epsilon=0.0001, name=None",
         "log_loss: Predicted=input Labels=label epsilon=epsilon -> Loss",
         "-label * log(input + eps) - (1 - label) * log(1 - input + eps)")
FUNCTION("nn.functional.square_error_cost", "input, label",
         "elementwise_sub: X=input Y=label; square: X=.", "(input - label)^2")
FUNCTION(
    "nn.functional.mse_loss", "input, label, reduction='mean', name=None",
    "reduction(reduction,'mse_loss'); call subtract: x=input y=label; call square: x=." REDUCED_BY(
        "name=name"),
    "(input - label)^2, reduced.")
FUNCTION("nn.functional.l1_loss", "input, label, reduction='mean', name=None",
         "reduction(reduction,'L1Loss'); call subtract: x=input y=label; call abs: x=." REDUCED_BY(
             "name=name"),
         "|input - label|, reduced.")
FUNCTION("nn.functional.smooth_l1_loss", "input, label, reduction='mean', delta=1.0, name=None",
         "reduction(reduction,'smooth_l1_loss'); huber_loss: X=input Y=label delta=delta -> "
         "Residual~ Out aside huber_loss" REDUCED_BY(""),
         "Huber's loss.")
FUNCTION("nn.functional.binary_cross_entropy",
         "input, label, weight=None, reduction='mean', name=None",
         "reduction(reduction,'binary_cross_entropy'); as binary_cross_entropy if none(weight) if "
         "is(reduction,'none'); aside binary_cross_entropy if unnamed(); bce_loss: X=input "
         "Label=label; call "
         "multiply: x=. y=weight if weight" REDUCED_BY(""),
         "-label * log(input) - (1 - label) * log(1 - input)")
FUNCTION("nn.functional.binary_cross_entropy_with_logits",
         "logit, label, weight=None, reduction='mean', pos_weight=None, name=None",
         "reduction(reduction,'binary_cross_entropy_with_logits'); call full: shape=[1] "
         "fill_value=1.0 dtype=dtype_of(logit) keep one if program(); call full: shape=[1] "
         "fill_value=1.0 dtype=dtype_of(logit) keep one if eager() if pos_weight; call subtract: "
         "x=pos_weight y=one if pos_weight; call multiply: x=label y=. if pos_weight; call add: "
         "x=. y=one keep more if pos_weight; sigmoid_cross_entropy_with_logits: X=logit "
         "Label=label pos_weight=more ignore_index=-100 normalize=False aside "
         "sigmoid_cross_entropy_with_logits; call multiply: x=. y=weight if weight" REDUCED_BY(""),
         "binary_cross_entropy of sigmoid(logit).")
FUNCTION(
    "nn.functional.margin_ranking_loss",
    "input, other, label, margin=0.0, reduction='mean', name=None",
    "reduction(reduction,'MarginRankingLoss'); call subtract: x=input y=other keep apart; "
    "call neg: x=label; call multiply: x=. y=apart keep out; call full: shape=[1] "
    "fill_value=margin dtype=dtype_of(out) keep least if true(margin); call add: x=out y=least "
    "if true(margin); call nn.functional.relu: x=. keep loss; reduce_sum: X=loss dim=[0] "
    "keep_dim=False reduce_all=True as margin_ranking_loss if is(reduction,'sum'); mean: "
    "X=loss as margin_ranking_loss if is(reduction,'mean')",
    "max(0, -label * (input - other) + margin)")
FUNCTION("nn.functional.nll_loss",
         "input, label, weight=None, ignore_index=-100, reduction='mean', name=None",
         "reduction(reduction,'nll_loss') nll_shapes(input,label); give label keep wanted; call "
         "reshape: x=label shape=[-1] keep wanted if rank(input,2) if rank(label,2); give input "
         "keep flat; call reshape: x=input shape=sizes(input,'d0/d1/1/-1') keep flat unless "
         "rank(input,2,4); call reshape: x=wanted shape=sizes(input,'d0/1/-1') keep wanted unless "
         "rank(input,2,4); nll_loss: X=flat Label=wanted Weight=weight reduction=reduction "
         "ignore_index=ignore_index -> Out Total_weight~ as nll_loss; call reshape: x=. "
         "shape=sizes(input,'d0/d2..') unless rank(input,2,4) if is(reduction,'none')",
         "-input[label]")
FUNCTION("nn.functional.hsigmoid_loss",
         "input, label, num_classes, weight, bias=None, path_table=None, path_code=None, "
         "is_sparse=False, name=None",
         "classes(num_classes); hierarchical_sigmoid: X=input W=weight Label=label Bias=bias "
         "PathTable=path_table PathCode=path_code num_classes=num_classes is_sparse=is_sparse -> "
         "Out PreOut~ W_Out~",
         "The loss of a tree of binary decisions; path_table and path_code: a tree of one's own.")
#undef REDUCED_BY
