/* One line per kind of table, `table_<name>.c` each. */
TABLE(array)
TABLE(hash)
TABLE(tiered)
