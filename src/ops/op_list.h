/* One line per op family, in any order: OP_FAMILY(name) names the table `ops_<name>` of a file in
 * this room. Included with OP_FAMILY defined. */
OP_FAMILY(activation)
OP_FAMILY(compare)
OP_FAMILY(elementwise)
OP_FAMILY(elementwise_grad)
