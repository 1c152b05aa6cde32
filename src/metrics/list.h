/* Every metric of Skiff, once: METRIC(id, kind, name, unit, help, labels).
 *
 * name: as Prometheus shows it: base units, counters end in _total. Log lines leave out "skiff_"
 * and "_total" (metric_short_name). unit: of the value; "seconds" are kept as nanoseconds. labels:
 * names separated by commas, whose values metrics_get is given in this order; the registry adds its
 * owner (server="0"). Readers show metrics in the order of this list. The list in
 * docs/reference/metrics.md is made from it (`make docs`). */

/* ---- training and evaluation ---- */
METRIC(TRAIN_BATCHES, COUNTER, "skiff_train_batches_total", "batches",
       "batches that were trained on or evaluated", "work")
METRIC(TRAIN_SAMPLES, COUNTER, "skiff_train_samples_total", "samples",
       "samples that were trained on or evaluated", "work")
METRIC(STEP_SECONDS, HISTOGRAM, "skiff_step_seconds", "seconds",
       "time of a training step by part; the other parts are within compute, except read", "part")
METRIC(EXECUTOR_PLANS, COUNTER, "skiff_executor_plans_total", "plans",
       "plans made: one for a program, its feeds with their batch size, and its fetches", "")

/* ---- datasets: what was read from files ---- */
METRIC(DATA_FILES, COUNTER, "skiff_data_files_total", "files", "files, or pieces of them, opened",
       "")
METRIC(DATA_BYTES, COUNTER, "skiff_data_bytes_total", "bytes", "bytes read, as they are on disk",
       "")
METRIC(DATA_SAMPLES, COUNTER, "skiff_data_samples_total", "samples", "samples read", "")
METRIC(DATA_BAD_LINES, COUNTER, "skiff_data_bad_lines_total", "lines",
       "bad lines found, by what is wrong", "kind")

/* ---- memory of the process ---- */
METRIC(MEMORY_BYTES, GAUGE, "skiff_memory_bytes", "bytes",
       "memory held by tensors, tables and buffers", "")
METRIC(MEMORY_PEAK_BYTES, GAUGE, "skiff_memory_peak_bytes", "bytes", "the most that was ever held",
       "")
METRIC(MEMORY_ALLOCATIONS, COUNTER, "skiff_memory_allocations_total", "allocations",
       "allocations of such memory", "")

/* ---- parameter servers ---- */
METRIC(SERVER_PUSHES, COUNTER, "skiff_server_pushes_total", "gradients", "gradients received", "")
METRIC(SERVER_PULLS, COUNTER, "skiff_server_pulls_total", "parameters", "parameters requested", "")
METRIC(SERVER_ROWS_PUSHED, COUNTER, "skiff_server_rows_pushed_total", "rows", "rows of gradients",
       "")
METRIC(SERVER_ROWS_PULLED, COUNTER, "skiff_server_rows_pulled_total", "rows", "rows requested", "")
METRIC(SERVER_STEPS, COUNTER, "skiff_server_steps_total", "steps", "sync steps finished", "")
METRIC(SERVER_BYTES_IN, COUNTER, "skiff_server_bytes_in_total", "bytes",
       "bytes of gradients received", "")
METRIC(SERVER_BYTES_OUT, COUNTER, "skiff_server_bytes_out_total", "bytes",
       "bytes of parameters sent", "")
METRIC(SERVER_TRAINERS_HERE, GAUGE, "skiff_server_trainers_here", "workers", "trainers in the job",
       "")
METRIC(SERVER_TRAINERS_GONE, GAUGE, "skiff_server_trainers_gone", "workers",
       "trainers that have finished", "")
METRIC(SERVER_TRAINERS_DEAD, GAUGE, "skiff_server_trainers_dead", "workers",
       "trainers that have died", "")

/* ---- sparse tables of a server ---- */
METRIC(TABLE_ROWS, GAUGE, "skiff_table_rows", "rows", "rows of sparse tables", "table")
METRIC(TABLE_BYTES, GAUGE, "skiff_table_bytes", "bytes", "memory of sparse tables", "table")
METRIC(TABLE_ADMITTED, COUNTER, "skiff_table_admitted_total", "rows", "rows created", "table")
METRIC(TABLE_REFUSED, COUNTER, "skiff_table_refused_total", "ids", "ids refused by admission",
       "table")
METRIC(TABLE_EXPIRED, COUNTER, "skiff_table_expired_total", "rows", "rows removed by shrinks",
       "table")
METRIC(TABLE_EVICTED, COUNTER, "skiff_table_evicted_total", "rows",
       "rows evicted at the memory limit", "table")

METRIC(TABLE_WAITING, GAUGE, "skiff_table_waiting", "ids", "ids that wait for admission", "table")
METRIC(TABLE_HITS, COUNTER, "skiff_table_hits_total", "rows",
       "requested rows that were in memory, of tables on disk", "table")
METRIC(TABLE_MISSES, COUNTER, "skiff_table_misses_total", "rows",
       "requested rows that were on disk", "table")
METRIC(TABLE_FETCHED, COUNTER, "skiff_table_fetched_total", "rows",
       "of the misses, rows that were prefetched", "table")
METRIC(TABLE_DISK_ROWS, GAUGE, "skiff_table_disk_rows", "rows", "rows that are on disk only",
       "table")
METRIC(TABLE_DISK_BYTES, GAUGE, "skiff_table_disk_bytes", "bytes", "size of the files on disk",
       "table")
METRIC(TABLE_WRITTEN_ROWS, COUNTER, "skiff_table_written_rows_total", "rows",
       "rows written to disk at the memory limit", "table")
METRIC(TABLE_WRITTEN_BYTES, COUNTER, "skiff_table_written_bytes_total", "bytes",
       "bytes written to disk, with what the database rewrites", "table")

/* ---- network: frames and links ---- */
METRIC(NET_FRAMES_IN, COUNTER, "skiff_net_frames_in_total", "frames", "frames received", "")
METRIC(NET_FRAMES_OUT, COUNTER, "skiff_net_frames_out_total", "frames", "frames sent", "")
METRIC(NET_BYTES_IN, COUNTER, "skiff_net_bytes_in_total", "bytes", "bytes received", "")
METRIC(NET_BYTES_OUT, COUNTER, "skiff_net_bytes_out_total", "bytes", "bytes sent", "")
METRIC(NET_NONSENSE, COUNTER, "skiff_net_nonsense_total", "packets", "packets that are not frames",
       "")
METRIC(NET_CORRUPT, COUNTER, "skiff_net_corrupt_total", "frames", "frames with a wrong checksum",
       "")
METRIC(NET_OTHER_VERSION, COUNTER, "skiff_net_other_version_total", "frames",
       "frames of another version", "")
METRIC(NET_OTHER_JOB, COUNTER, "skiff_net_other_job_total", "frames", "frames of another job", "")
METRIC(NET_UNKNOWN, COUNTER, "skiff_net_unknown_total", "frames", "frames of peers without a hello",
       "")
METRIC(NET_IMPOSTORS, COUNTER, "skiff_net_impostors_total", "frames",
       "frames that name another sender", "")
METRIC(NET_REFUSED, COUNTER, "skiff_net_refused_total", "peers", "peers that were not admitted", "")
METRIC(NET_BAD_PARTS, COUNTER, "skiff_net_bad_parts_total", "messages",
       "messages with inconsistent or missing parts", "")
METRIC(NET_OVERFLOWS, COUNTER, "skiff_net_overflows_total", "messages",
       "messages dropped because a queue was full", "")
METRIC(NET_LINKS_UP, COUNTER, "skiff_net_links_up_total", "links", "links established", "")
METRIC(NET_LINKS_DOWN, COUNTER, "skiff_net_links_down_total", "links", "links that went down", "")

/* ---- network: connections of a transport ---- */
METRIC(NET_ACCEPTED, COUNTER, "skiff_net_accepted_total", "connections", "connections accepted", "")
METRIC(NET_LOST, COUNTER, "skiff_net_lost_total", "connections",
       "connections that broke or were closed", "")
METRIC(NET_UNAUTHENTICATED, COUNTER, "skiff_net_unauthenticated_total", "connections",
       "connections that failed the handshake", "reason")
METRIC(NET_MALFORMED, COUNTER, "skiff_net_malformed_total", "connections",
       "connections of members that were closed because of invalid bytes", "")
METRIC(NET_NO_DESCRIPTOR, COUNTER, "skiff_net_no_descriptor_total", "connections",
       "connections that the process had no file descriptor for", "")
METRIC(NET_FAULTS, COUNTER, "skiff_net_faults_total", "packets",
       "packets of the transport fault, by what it did to them", "fault")

/* ---- a trainer's session with its servers ---- */
METRIC(SESSION_BYTES_OUT, COUNTER, "skiff_session_bytes_out_total", "bytes",
       "bytes of requests to servers", "")
METRIC(SESSION_BYTES_IN, COUNTER, "skiff_session_bytes_in_total", "bytes",
       "bytes of replies from servers", "")
METRIC(SESSION_EXCHANGES, COUNTER, "skiff_session_exchanges_total", "exchanges",
       "exchanges of gradients and parameters with servers", "")
METRIC(SESSION_ROWS_PULLED, COUNTER, "skiff_session_rows_pulled_total", "rows",
       "rows received from servers", "")
METRIC(SESSION_ROWS_PREFETCHED, COUNTER, "skiff_session_rows_prefetched_total", "rows",
       "rows received that were requested before their batch began", "")
METRIC(SESSION_WAIT_SECONDS, HISTOGRAM, "skiff_session_wait_seconds", "seconds",
       "time that a thread waited for the replies to a batch of requests", "")

/* ---- collective calls of a rank ---- */
METRIC(COLLECTIVE_BYTES, COUNTER, "skiff_collective_bytes_total", "bytes",
       "bytes that this rank gave to other ranks, by the collective call", "call")
METRIC(COLLECTIVE_SECONDS, HISTOGRAM, "skiff_collective_seconds", "seconds",
       "time of a collective call, with the wait for other ranks", "call")

/* ---- remote calls ---- */
METRIC(RPC_REQUESTS, COUNTER, "skiff_rpc_requests_total", "requests", "requests begun", "")
METRIC(RPC_DUPLICATES, COUNTER, "skiff_rpc_duplicates_total", "frames",
       "duplicate frames of requests", "")
METRIC(RPC_STALE, COUNTER, "skiff_rpc_stale_total", "frames",
       "frames of requests that the client has finished", "")
METRIC(RPC_BUSY, COUNTER, "skiff_rpc_busy_total", "requests",
       "requests refused because a queue was full", "")
METRIC(RPC_KEPT_BYTES, GAUGE, "skiff_rpc_kept_bytes", "bytes", "replies kept", "")
METRIC(RPC_CALLS, COUNTER, "skiff_rpc_calls_total", "requests", "requests to servers", "")
METRIC(RPC_CALL_SECONDS, HISTOGRAM, "skiff_rpc_call_seconds", "seconds",
       "time from a request to its reply", "")
METRIC(RPC_PROBES, COUNTER, "skiff_rpc_probes_total", "requests",
       "probes for the state of a request", "")
METRIC(RPC_RESENT, COUNTER, "skiff_rpc_resent_total", "requests", "requests that were sent again",
       "")
METRIC(RPC_TIMEOUTS, COUNTER, "skiff_rpc_timeouts_total", "requests",
       "requests without an answer in time", "")
