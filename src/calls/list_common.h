/* paddle.nn.functional: linear maps, embeddings, labels. Notation: calls/row.h. */
FUNCTION("nn.functional.linear", "x, weight, bias=None, name=None",
         "matmul_v2: X=x Y=weight trans_x=False trans_y=False; elementwise_add: X=. Y=bias axis=-1 "
         "if bias",
         "x @ weight + bias")
FUNCTION("nn.functional.bilinear", "x1, x2, weight, bias=None, name=None",
         "bilinear_tensor_product: X=x1 Y=x2 Weight=weight Bias=bias",
         "x1 weight[k] x2 + bias[k]; weight [out, in1, in2].")
FUNCTION("nn.functional.embedding", "x, weight, padding_idx=None, sparse=False, name=None",
         "lookup_table_v2: Ids=x W=weight is_sparse=sparse is_distributed=False "
         "remote_prefetch=sparse padding_idx=padding(weight,padding_idx) ids(x)",
         "Rows of weight by number; rows of padding_idx are zero.")
FUNCTION("nn.functional.one_hot", "x, num_classes, name=None",
         "one_hot_v2: X=x allow_out_of_range=False depth|depth_tensor=num_classes -> Out:float32! "
         "as one_hot_v2",
         "A row with a one at x.")
FUNCTION("nn.functional.sequence_mask", "x, maxlen=None, dtype='int64', name=None",
         "sequence_mask: X=x out_dtype=dtype(dtype) maxlen|MaxLenTensor=maxlen -> Y!",
         "Rows that begin with x ones.")
