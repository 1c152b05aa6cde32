/* One line per kind of table, `table_<name>.c` each. Next: tiered, a hash in memory over RocksDB on
 * disk (its find may read, its records leave by policy). */
TABLE(array)
TABLE(hash)
