/* One line per op family, in any order: OP_FAMILY(name) names the table `ops_<name>` of a file in
 * this room. Included with OP_FAMILY defined. */
OP_FAMILY(activation)
OP_FAMILY(compare)
OP_FAMILY(elementwise)
OP_FAMILY(elementwise_grad)
OP_FAMILY(lookup)
OP_FAMILY(sequence_pool)
OP_FAMILY(softmax)
OP_FAMILY(cross_entropy)
OP_FAMILY(loss_binary)
OP_FAMILY(loss_rank)
OP_FAMILY(optimizer)
OP_FAMILY(rows)
