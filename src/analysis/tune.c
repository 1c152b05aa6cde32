/* A search over keys of a config (skiff/tune.h).
 *
 * What is to be done follows from the journal alone: the parts of the first rung, then those of the
 * next one for the best third, and so on; at last the best ones with other seeds. So a search that
 * is resumed does what is missing. Parts run in processes (tune_process.h), `jobs` at a time; a
 * rung is decided when all of its parts have ended.
 *
 * A trial has a folder, in which its runs resume each other: a longer rung continues where the
 * shorter one has ended. */
#include <skiff/tune.h>

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/log_lines.h"
#include "analysis/tune_process.h"
#include "analysis/tune_space.h"
#include "base/hash.h"
#include "base/mem.h"
#include "config/config.h"
#include "fs/fs.h"
#include "report/tune_page.h"
#include "store/file.h"

#define TRIALS 20
#define MOST_TRIALS 100000
#define ETA 3      /* successive halving keeps one in so many */
#define REPEATED 3 /* trials that are repeated with other seeds */
#define PAGE "tune.html"
#define LOOK_MS 100 /* between two looks for the wish to stop */

struct skiff_tune {
    struct skiff_tune_config config;
    struct log_lines log;
    struct logger logger;
    struct tune_space space;
    struct tune_journal journal;
    char *folder, *page;
    int ntrials, rungs, epochs, jobs, seeds;
    uint64_t seed;
    int64_t train_seed;
    struct skiff_tune_trial *trials; /* by number; then the best one first */
    struct tune_part *todo;
    int ntodo;
    int done, all;                /* parts */
    struct tune_process *running; /* jobs of them */
};

/* ---- the config ---- */

struct unknown_keys {
    const struct logger *logger;
    struct buf first; /* that is an error */
};

static void report_unknown(void *user, bool likely, const char *text)
{
    struct unknown_keys *u = user;
    if (!likely)
        logger_warn(u->logger, "%s", text);
    else if (!u->first.len)
        buf_str(&u->first, text);
}

/* A key that no command knows would be the same error in every trial. */
static enum skiff_status check_keys(struct skiff_tune *t, struct config *c, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    struct unknown_keys unknown = {.logger = &t->logger};
    enum skiff_status status = SKIFF_OK;
    member_know(c, KEY_TABLE_PARAMETERS, NULL); /* trials look at their names */
    member_know(c, KEY_HYPER, NULL);
    member_know(c, KEY_OPTIMIZER, NULL);
    for (int k = 0; k < t->space.n && status == SKIFF_OK; k++) {
        buf_reset(&text);
        buf_printf(&text, "%s=", t->space.keys[k].name);
        tune_space_value(&t->space, k, true, 0, 0, &text);
        status = config_override(c, text.data, err);
    }
    if (status == SKIFF_OK && config_unknown(c, report_unknown, &unknown))
        status = error_set(err, SKIFF_INVALID, "%s", unknown.first.data);
    buf_deinit(&text);
    buf_deinit(&unknown.first);
    return status;
}

static enum skiff_status need_validation(struct config *c, struct skiff_error *err)
{
    const char *const *paths;
    if (config_paths(c, KEY_RUNNER_VALID_DATA_DIR, &paths) > 0)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "%s: trials are compared by validation, so %s is required: rows that are not "
                     "trained on",
                     config_name(c), key_name(KEY_RUNNER_VALID_DATA_DIR));
}

/* Rungs of successive halving: as many as epochs and trials give, by thirds. */
static enum skiff_status count_rungs(struct skiff_tune *t, struct skiff_error *err)
{
    t->rungs = 1;
    if (t->config.method != SKIFF_TUNE_HALVING)
        return SKIFF_OK;
    if (t->epochs < ETA)
        return error_set(err, SKIFF_INVALID,
                         "%s: successive halving compares short runs first, so it needs %s of at "
                         "least %d, found %d; take --method random",
                         t->config.config, key_name(KEY_RUNNER_EPOCHS), ETA, t->epochs);
    for (int e = t->epochs / ETA, n = t->ntrials / ETA; e >= 1 && n >= 1; e /= ETA, n /= ETA)
        t->rungs++;
    return SKIFF_OK;
}

static enum skiff_status count_trials(struct skiff_tune *t, struct skiff_error *err)
{
    bool grid = t->config.method == SKIFF_TUNE_GRID;
    int64_t size = grid ? tune_space_grid(&t->space) : tune_space_size(&t->space);
    int64_t n = t->config.trials ? t->config.trials : grid ? size : TRIALS;
    if (size > 0 && n > size) /* there are no more */
        n = size;
    if (n < 1 || n > MOST_TRIALS)
        return error_set(err, SKIFF_RANGE,
                         "%lld trials; expected 1 to %d: try fewer values, or --method random with "
                         "--trials N",
                         (long long)n, MOST_TRIALS);
    t->ntrials = (int)n;
    return count_rungs(t, err);
}

static enum skiff_status choose_folder(struct skiff_tune *t, struct config *c,
                                       struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct buf path = BUF_INIT;
    char here[PATH_MAX];
    const char *given = t->config.folder;
    if (given && *given != '/' && getcwd(here, sizeof here))
        buf_printf(&path, "%s/%s", here, given);
    else
        buf_printf(&path, "%s%s", given ? given : config_path(c, KEY_RUNNER_MODEL_SAVE_PATH),
                   given ? "" : "-tune");
    if (fs_is_remote(path.data))
        status = error_set(err, SKIFF_UNSUPPORTED,
                           "%s: a search needs a folder of this machine; name one with --folder",
                           path.data);
    t->folder = mem_strdup_or_die(path.data);
    t->page = path_join(t->folder, PAGE);
    buf_deinit(&path);
    return status;
}

static enum skiff_status read_config(struct skiff_tune *t, struct skiff_error *err)
{
    struct config *c = NULL;
    TRY(config_open(t->config.config, &c, err));
    enum skiff_status status = config_aliases(c, err);
    for (int i = 0; status == SKIFF_OK && i < t->config.noptions; i++)
        status = config_override(c, t->config.options[i], err);
    if (status == SKIFF_OK) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        int threads = (int)config_int(c, KEY_RUNNER_THREAD_NUM);
        t->jobs = t->config.jobs ? t->config.jobs : (int)(cores / (threads > 0 ? threads : 1));
        t->jobs = t->jobs < 1 ? 1 : t->jobs;
        t->epochs = (int)config_int(c, KEY_RUNNER_EPOCHS);
        t->train_seed = config_int(c, KEY_RUNNER_SEED);
        t->seed = t->config.seed ? t->config.seed : (uint64_t)t->train_seed;
        status = choose_folder(t, c, err);
    }
    if (status == SKIFF_OK)
        status = need_validation(c, err);
    if (status == SKIFF_OK)
        status = check_keys(t, c, err);
    config_close(c);
    return status;
}

/* ---- the journal ---- */

/* Everything that decides what a trial is. */
static enum skiff_status describe_search(const struct skiff_tune *t, struct buf *out,
                                         struct skiff_error *err)
{
    static const char *const methods[] = {"random", "grid", "halving"};
    struct buf text = BUF_INIT;
    enum skiff_status status = file_read(t->config.config, &text, err);
    buf_printf(out, "%s, seed %llu, epochs %d, config %016llx", methods[t->config.method],
               (unsigned long long)t->seed, t->epochs,
               (unsigned long long)hash_xxh64(text.data ? text.data : "", text.len, 0));
    for (int i = 0; i < t->config.noptions; i++)
        buf_printf(out, ", %s", t->config.options[i]);
    for (int i = 0; i < t->config.ntries; i++)
        buf_printf(out, ", try %s", t->config.tries[i]);
    buf_deinit(&text);
    return status;
}

/* Only what a search has written: the folder may hold more. */
static void remove_search(const struct skiff_tune *t)
{
    DIR *dir = opendir(t->folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        bool own = !strcmp(e->d_name, TUNE_JOURNAL) || !strcmp(e->d_name, PAGE) ||
                   !strncmp(e->d_name, "trial-", 6);
        char *path = path_join(t->folder, e->d_name);
        if (own)
            file_remove_tree(path);
        free(path);
    }
    if (dir)
        closedir(dir);
}

static enum skiff_status begin_anew(struct skiff_tune *t, const char *search,
                                    struct skiff_error *err)
{
    tune_journal_deinit(&t->journal);
    t->journal.search = mem_strdup_or_die(search);
    return tune_journal_write(&t->journal, t->folder, err);
}

static enum skiff_status open_journal(struct skiff_tune *t, const char *search,
                                      struct skiff_error *err)
{
    struct skiff_error why = {0};
    char *path = path_join(t->folder, TUNE_JOURNAL);
    bool there = file_exists(path);
    free(path);
    if (t->config.overwrite && there)
        remove_search(t);
    if (t->config.overwrite || !there)
        return begin_anew(t, search, err);
    if (tune_journal_read(&t->journal, t->folder, &why) < 0) {
        if (err)
            *err = why;
        return why.code;
    }
    if (strcmp(t->journal.search, search) != 0)
        return error_set(err, SKIFF_STATE,
                         "%s has another search (%s), this one is (%s): --overwrite begins anew, "
                         "--folder names another folder",
                         t->folder, t->journal.search, search);
    tune_journal_forget_failed(&t->journal);
    if (t->journal.n)
        logger_info(&t->logger, "resuming the search of %s: %d runs have ended", t->folder,
                    t->journal.n);
    return SKIFF_OK;
}

/* ---- trials ---- */

static bool rises(const struct skiff_tune *t)
{
    return !strcmp(t->journal.metric, "auc");
}

static void make_trial(struct skiff_tune *t, int number)
{
    struct skiff_tune_trial *trial = &t->trials[number];
    struct buf text = BUF_INIT;
    const char **values = mem_alloc_or_die(((size_t)t->space.n + 1) * sizeof *values);
    bool grid = t->config.method == SKIFF_TUNE_GRID;
    for (int k = 0; k < t->space.n; k++) {
        buf_reset(&text);
        buf_printf(&text, "%s=", t->space.keys[k].name);
        tune_space_value(&t->space, k, grid, t->seed, number, &text);
        values[k] = mem_strdup_or_die(text.data);
    }
    buf_reset(&text);
    buf_printf(&text, "%s/trial-%d", t->folder, number);
    *trial = (struct skiff_tune_trial){.number = number,
                                       .values = values,
                                       .nvalues = t->space.n,
                                       .folder = mem_strdup_or_die(text.data),
                                       .value = NAN,
                                       .best_epoch = -1,
                                       .mean = NAN,
                                       .low = NAN,
                                       .high = NAN};
    buf_deinit(&text);
}

/* The highest rung that it has reached; -1: none. */
static int rung_of(const struct skiff_tune *t, int number)
{
    int rung = -1;
    while (rung + 1 < t->rungs && tune_journal_find(&t->journal, number, rung + 1, 0))
        rung++;
    return rung;
}

static void add_seeds(const struct skiff_tune *t, struct skiff_tune_trial *trial)
{
    double sum = 0;
    trial->seeds = 0;
    for (int s = 0; s < t->seeds; s++) {
        const struct tune_part *p = tune_journal_find(&t->journal, trial->number, t->rungs - 1, s);
        if (!p || isnan(p->value))
            continue;
        trial->low = trial->seeds ? fmin(trial->low, p->value) : p->value;
        trial->high = trial->seeds ? fmax(trial->high, p->value) : p->value;
        sum += p->value;
        trial->mean = sum / ++trial->seeds;
    }
}

static void fill_trial(const struct skiff_tune *t, struct skiff_tune_trial *trial)
{
    int rung = rung_of(t, trial->number);
    trial->state = SKIFF_TUNE_WAITING;
    trial->seconds = 0;
    for (int r = 0; r <= rung; r++) {
        const struct tune_part *p = tune_journal_find(&t->journal, trial->number, r, 0);
        trial->value = p->value;
        trial->best_epoch = p->best_epoch;
        trial->epochs = p->epochs;
        trial->seconds += p->seconds;
        trial->error = p->error;
    }
    if (trial->error)
        trial->state = SKIFF_TUNE_FAILED;
    else if (rung >= 0)
        trial->state = rung + 1 < t->rungs ? SKIFF_TUNE_STOPPED : SKIFF_TUNE_DONE;
    add_seeds(t, trial);
}

static void fill_trials(struct skiff_tune *t)
{
    for (int i = 0; i < t->ntrials; i++)
        fill_trial(t, &t->trials[i]);
}

struct ranked_trial {
    int number, rung;
    double value; /* lower is better */
};

static int best_first(const void *a, const void *b)
{
    const struct ranked_trial *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value))
        return isnan(x->value) ? 1 : -1;
    if (x->rung != y->rung)
        return y->rung - x->rung;
    if (x->value != y->value && !isnan(x->value))
        return x->value < y->value ? -1 : 1;
    return x->number - y->number;
}

/* All trials, the best first: those that have come farther are better. */
static struct ranked_trial *rank(const struct skiff_tune *t)
{
    struct ranked_trial *at = mem_alloc_or_die((size_t)t->ntrials * sizeof *at);
    for (int i = 0; i < t->ntrials; i++) {
        int rung = rung_of(t, i);
        const struct tune_part *p = rung < 0 ? NULL : tune_journal_find(&t->journal, i, rung, 0);
        at[i] = (struct ranked_trial){i, rung, p ? (rises(t) ? -p->value : p->value) : NAN};
    }
    qsort(at, (size_t)t->ntrials, sizeof *at, best_first);
    return at;
}

/* ---- what is to be done ---- */

static void want(struct skiff_tune *t, int trial, int rung, int seed)
{
    if (!tune_journal_find(&t->journal, trial, rung, seed))
        t->todo[t->ntodo++] = (struct tune_part){.trial = trial, .rung = rung, .seed = seed};
}

static int size_of_rung(const struct skiff_tune *t, int rung)
{
    int n = t->ntrials;
    for (int r = 0; r < rung; r++)
        n = (n + ETA - 1) / ETA;
    return n;
}

static int by_value(const void *a, const void *b)
{
    const struct ranked_trial *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value))
        return isnan(x->value) ? 1 : -1;
    if (x->value != y->value && !isnan(x->value))
        return x->value < y->value ? -1 : 1;
    return x->number - y->number;
}

/* The best of a rung go on to the next one. */
static void want_rung(struct skiff_tune *t, int rung)
{
    struct ranked_trial *at = mem_alloc_or_die((size_t)t->ntrials * sizeof *at);
    int n = 0, most = size_of_rung(t, rung);
    for (int i = 0; i < t->ntrials; i++) {
        const struct tune_part *p = rung ? tune_journal_find(&t->journal, i, rung - 1, 0) : NULL;
        if (!rung)
            want(t, i, 0, 0);
        else if (p && !isnan(p->value))
            at[n++] = (struct ranked_trial){i, 0, rises(t) ? -p->value : p->value};
    }
    qsort(at, (size_t)n, sizeof *at, by_value);
    for (int k = 0; rung && k < n && k < most; k++)
        want(t, at[k].number, rung, 0);
    free(at);
}

static void want_seeds(struct skiff_tune *t)
{
    struct ranked_trial *at = rank(t);
    for (int k = 0; k < t->ntrials && k < REPEATED; k++)
        for (int s = 1; s < t->seeds && !isnan(at[k].value) && at[k].rung == t->rungs - 1; s++)
            want(t, at[k].number, t->rungs - 1, s);
    free(at);
}

/* The parts that can run now; none: the search is over. */
static void find_todo(struct skiff_tune *t)
{
    t->ntodo = 0;
    for (int r = 0; r < t->rungs && !t->ntodo; r++)
        want_rung(t, r);
    if (!t->ntodo)
        want_seeds(t);
}

static int count_all(const struct skiff_tune *t)
{
    int n = 0, repeated = t->ntrials < REPEATED ? t->ntrials : REPEATED;
    for (int r = 0; r < t->rungs; r++)
        n += size_of_rung(t, r);
    if (size_of_rung(t, t->rungs - 1) < repeated)
        repeated = size_of_rung(t, t->rungs - 1);
    return n + repeated * (t->seeds - 1);
}

/* ---- running ---- */

static int epochs_of(const struct skiff_tune *t, int rung)
{
    int e = t->epochs;
    for (int r = rung; r + 1 < t->rungs; r++)
        e = (e + ETA - 1) / ETA;
    return e;
}

static enum skiff_status start_part(struct skiff_tune *t, struct tune_process *p,
                                    const struct tune_part *part, struct skiff_error *err)
{
    const struct skiff_tune_trial *trial = &t->trials[part->trial];
    struct buf folder = BUF_INIT, log = BUF_INIT, save = BUF_INIT;
    char epochs[64], seed[64];
    int n = 0;
    const char **options =
        mem_alloc_or_die((size_t)(t->config.noptions + t->space.n + 5) * sizeof *options);
    buf_printf(&folder, "%s", trial->folder);
    if (part->seed)
        buf_printf(&folder, "-seed-%d", part->seed);
    buf_printf(&log, "%s.log", folder.data);
    buf_printf(&save, "%s=%s", key_name(KEY_RUNNER_MODEL_SAVE_PATH), folder.data);
    snprintf(epochs, sizeof epochs, "%s=%d", key_name(KEY_RUNNER_EPOCHS), epochs_of(t, part->rung));
    snprintf(seed, sizeof seed, "%s=%lld", key_name(KEY_RUNNER_SEED),
             (long long)(t->train_seed + part->seed));
    options[n++] = "runner.keep_epochs=1";
    for (int i = 0; i < t->config.noptions; i++)
        options[n++] = t->config.options[i];
    options[n++] = epochs;
    options[n++] = seed;
    for (int k = 0; k < trial->nvalues; k++)
        options[n++] = trial->values[k];
    options[n++] = save.data;
    const struct tune_run run = {t->config.config, options, n, folder.data, log.data};
    enum skiff_status status = tune_process_start(p, &run, part, err);
    buf_deinit(&folder);
    buf_deinit(&log);
    buf_deinit(&save);
    free(options);
    return status;
}

static enum skiff_status end_part(struct skiff_tune *t, struct tune_process *p,
                                  struct skiff_error *err)
{
    char metric[16];
    tune_process_end(p, metric);
    if (*metric && !*t->journal.metric)
        snprintf(t->journal.metric, sizeof t->journal.metric, "%s", metric);
    if (*metric && strcmp(metric, t->journal.metric) != 0) {
        struct buf why = BUF_INIT;
        buf_printf(&why, "it was compared by %s, the others by %s; set runner.valid_metric", metric,
                   t->journal.metric);
        p->part.error = mem_strdup_or_die(why.data);
        p->part.value = NAN;
        buf_deinit(&why);
    }
    tune_journal_add(&t->journal, &p->part);
    free(p->part.error);
    TRY(tune_journal_write(&t->journal, t->folder, err));
    struct skiff_tune_trial *trial = &t->trials[p->part.trial];
    fill_trial(t, trial);
    t->done++;
    if (t->config.on_trial)
        t->config.on_trial(t->config.user, trial, t->done, t->all);
    return SKIFF_OK;
}

static bool wants_stop(const struct skiff_tune *t)
{
    return t->config.wants_stop && t->config.wants_stop(t->config.user);
}

/* Waits until one of them has ended, or the caller wants to stop. */
static enum skiff_status await_one(struct skiff_tune *t, struct pollfd *fds,
                                   struct skiff_error *err)
{
    for (int i = 0; i < t->jobs; i++)
        fds[i] = (struct pollfd){.fd = t->running[i].pid ? t->running[i].fd : -1, .events = POLLIN};
    if (poll(fds, (nfds_t)t->jobs, LOOK_MS) <= 0)
        return SKIFF_OK;
    for (int i = 0; i < t->jobs; i++)
        if (fds[i].fd >= 0 && fds[i].revents)
            TRY(end_part(t, &t->running[i], err));
    return SKIFF_OK;
}

static enum skiff_status run_todo(struct skiff_tune *t, struct pollfd *fds, struct skiff_error *err)
{
    int next = 0, busy;
    do {
        if (wants_stop(t))
            return error_set(err, SKIFF_STATE,
                             "stopped after %d of %d runs; the same command resumes the search",
                             t->done, t->all);
        for (int i = 0; i < t->jobs && next < t->ntodo; i++)
            if (!t->running[i].pid)
                TRY(start_part(t, &t->running[i], &t->todo[next++], err));
        TRY(await_one(t, fds, err));
        busy = 0;
        for (int i = 0; i < t->jobs; i++)
            busy += t->running[i].pid != 0;
    } while (busy || next < t->ntodo);
    return SKIFF_OK;
}

static enum skiff_status search(struct skiff_tune *t, struct skiff_error *err)
{
    struct pollfd *fds = mem_alloc_or_die((size_t)t->jobs * sizeof *fds);
    enum skiff_status status = SKIFF_OK;
    for (find_todo(t); t->ntodo && status == SKIFF_OK; find_todo(t))
        status = run_todo(t, fds, err);
    for (int i = 0; i < t->jobs; i++)
        tune_process_kill(&t->running[i]);
    free(fds);
    return status;
}

/* ---- results ---- */

static double mean_of(const struct skiff_tune *t, int i)
{
    return rises(t) ? -t->trials[i].mean : t->trials[i].mean;
}

/* Those at the top that were trained with several seeds are compared by their means. */
static void sort_repeated(struct skiff_tune *t)
{
    for (int n = 1; n < t->ntrials && t->seeds > 1 && t->trials[n].seeds == t->seeds; n++)
        for (int i = n; i > 0 && mean_of(t, i) < mean_of(t, i - 1); i--) {
            struct skiff_tune_trial other = t->trials[i - 1];
            t->trials[i - 1] = t->trials[i];
            t->trials[i] = other;
        }
}

static void sort_trials(struct skiff_tune *t)
{
    struct ranked_trial *at = rank(t);
    struct skiff_tune_trial *sorted = mem_alloc_or_die((size_t)t->ntrials * sizeof *sorted);
    for (int i = 0; i < t->ntrials; i++)
        sorted[i] = t->trials[at[i].number];
    free(t->trials);
    free(at);
    t->trials = sorted;
    sort_repeated(t);
}

static const char *state_word(enum skiff_tune_state state)
{
    static const char *const words[] = {"waiting", "left behind", "done", "failed"};
    return words[state];
}

/* The value behind the key's name. */
static const char *value_of(const struct skiff_tune_trial *trial, int k)
{
    return strchr(trial->values[k], '=') + 1;
}

static void print_command(const struct skiff_tune *t, struct buf *out)
{
    const struct skiff_tune_trial *best = &t->trials[0];
    buf_printf(out, "skiff train -m %s -o", t->config.config);
    for (int i = 0; i < t->config.noptions; i++)
        buf_printf(out, " '%s'", t->config.options[i]);
    for (int k = 0; k < best->nvalues; k++)
        buf_printf(out, strpbrk(best->values[k], " [],'\"") ? " \"%s\"" : " %s", best->values[k]);
}

static enum skiff_status write_page(struct skiff_tune *t, struct skiff_error *err)
{
    static const char *const methods[] = {"random", "grid", "successive halving"};
    size_t nkeys = (size_t)t->space.n, n = (size_t)t->ntrials;
    struct tune_row *rows = mem_alloc_or_die(n * sizeof *rows);
    const char **keys = mem_alloc_or_die((nkeys + 1) * sizeof *keys);
    const char **values = mem_alloc_or_die((n * nkeys + 1) * sizeof *values);
    int *logarithmic = mem_alloc_or_die((nkeys + 1) * sizeof *logarithmic);
    struct buf html = BUF_INIT, command = BUF_INIT;
    for (size_t k = 0; k < nkeys; k++) {
        keys[k] = t->space.keys[k].name;
        logarithmic[k] = t->space.keys[k].kind == TUNE_LOG;
    }
    for (size_t i = 0; i < n; i++) {
        const struct skiff_tune_trial *trial = &t->trials[i];
        for (size_t k = 0; k < nkeys; k++)
            values[i * nkeys + k] = value_of(trial, (int)k);
        rows[i] = (struct tune_row){trial->number,      state_word(trial->state),
                                    values + i * nkeys, trial->value,
                                    trial->epochs,      trial->seconds,
                                    trial->seeds,       trial->mean,
                                    trial->low,         trial->high,
                                    trial->error};
    }
    print_command(t, &command);
    tune_page_html(&(struct tune_page){t->config.config, methods[t->config.method],
                                       t->journal.metric, keys, logarithmic, t->space.n, rows,
                                       t->ntrials, command.data},
                   &html);
    enum skiff_status status = file_write(t->page, html.data, html.len, err);
    buf_deinit(&html);
    buf_deinit(&command);
    free(rows);
    free(keys);
    free(values);
    free(logarithmic);
    return status;
}

/* ---- the public face ---- */

static enum skiff_status run(struct skiff_tune *t, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    TRY(tune_space_read(&t->space, t->config.tries, t->config.ntries, err));
    TRY(read_config(t, err));
    TRY(count_trials(t, err));
    t->seeds = t->config.seeds > 1 ? t->config.seeds : 1;
    enum skiff_status status = describe_search(t, &text, err);
    if (status == SKIFF_OK)
        status = open_journal(t, text.data, err);
    buf_deinit(&text);
    TRY(status);
    t->trials = mem_alloc_or_die((size_t)t->ntrials * sizeof *t->trials);
    t->todo =
        mem_alloc_or_die(((size_t)t->ntrials + (size_t)(REPEATED * t->seeds)) * sizeof *t->todo);
    t->running = mem_alloc_or_die((size_t)t->jobs * sizeof *t->running);
    for (int i = 0; i < t->ntrials; i++)
        make_trial(t, i);
    fill_trials(t);
    t->all = count_all(t);
    t->done = t->journal.n < t->all ? t->journal.n : t->all;
    TRY(search(t, err));
    fill_trials(t);
    sort_trials(t);
    if (t->trials[0].error)
        return error_set(err, SKIFF_INVALID, "all %d trials have failed; trial %d: %s", t->ntrials,
                         t->trials[0].number, t->trials[0].error);
    return write_page(t, err);
}

static enum skiff_status check(const struct skiff_tune_config *c, struct skiff_error *err)
{
    TRY(reserved_check(c->reserved, "skiff_tune_config", err));
    if (!c->config)
        return error_set(err, SKIFF_INVALID, "a search needs a config");
    if (c->trials < 0 || c->jobs < 0 || c->jobs > 1024 || c->seeds < 0 || c->seeds > 1000)
        return error_set(
            err, SKIFF_RANGE,
            "trials is %d, jobs %d, seeds %d; expected at least 1, 1 to 1024, 1 to 1000", c->trials,
            c->jobs, c->seeds);
    return SKIFF_OK;
}

struct skiff_tune *skiff_tune_run(const struct skiff_tune_config *config, struct skiff_error *err)
{
    if (check(config, err) < 0)
        return NULL;
    struct skiff_tune *t = mem_alloc_or_die(sizeof *t);
    t->config = *config;
    t->log = (struct log_lines){config->on_log, config->user, config->quiet};
    t->logger = (struct logger){log_lines_write, &t->log};
    if (run(t, err) == SKIFF_OK)
        return t;
    skiff_tune_destroy(t);
    return NULL;
}

int skiff_tune_count(const struct skiff_tune *t)
{
    return t->ntrials;
}

const struct skiff_tune_trial *skiff_tune_trial(const struct skiff_tune *t, int k)
{
    return k >= 0 && k < t->ntrials ? &t->trials[k] : NULL;
}

const char *skiff_tune_metric(const struct skiff_tune *t)
{
    return t->journal.metric;
}

const char *skiff_tune_page(const struct skiff_tune *t)
{
    return t->page;
}

void skiff_tune_destroy(struct skiff_tune *t)
{
    if (!t)
        return;
    for (int i = 0; t->trials && i < t->ntrials; i++) {
        for (int k = 0; k < t->trials[i].nvalues; k++)
            free((void *)t->trials[i].values[k]);
        free((void *)t->trials[i].values);
        free((void *)t->trials[i].folder);
    }
    free(t->trials);
    free(t->todo);
    free(t->running);
    free(t->folder);
    free(t->page);
    tune_space_deinit(&t->space);
    tune_journal_deinit(&t->journal);
    free(t);
}
