/* One line per accessor, `accessor_<name>.c` each. */
ACCESSOR(plain)
ACCESSOR(sparse)
ACCESSOR(ctr_common)
ACCESSOR(ctr_double)
