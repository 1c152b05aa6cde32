/* Recorded cases below a folder, or in archives.
 *
 * Cases are found by their files alone, in the order of their names. Deviations that are intended
 * are listed here, with their reason: such a case passes and is counted separately. */
#include "replay/find.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/archive.h"
#include "replay/case.h"
#include "store/file.h"

/* What Paddle does in these recorded cases is a defect; Skiff does the right thing
 * (docs/reference/differences.md). */
static const char *const defects[] = {
    "a zero tensor gives NaN",
    "no label counts: 0/0 = NaN",
    "rows are looked up by binary search in a list that is not sorted",
};

/* The same for recorded cases that do not say so themselves. */
static const struct {
    const char *name, *defect;
} defect_cases[] = {
    {"ops26/gather/axis1", "the gradient along an axis other than 0 repeats its first block"},
    {"ops26/reduce_prod/zeros", "the gradient is NaN where an element is 0"},
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

const char *replay_known_defect(const char *dir, const char *quirk)
{
    for (size_t i = 0; quirk && i < sizeof(defects) / sizeof(defects[0]); i++)
        if (!strncmp(quirk, defects[i], strlen(defects[i])))
            return quirk;
    char *full = realpath(dir, NULL); /* the case may have been named from inside its folder */
    const char *found = NULL;
    for (size_t i = 0; full && i < sizeof(defect_cases) / sizeof(defect_cases[0]); i++)
        if (ends_with(full, defect_cases[i].name))
            found = defect_cases[i].defect;
    free(full);
    return found;
}

static bool is_stopped(const struct replay_finder *f)
{
    return f->stop && atomic_load(f->stop);
}

static void keep(struct case_files *list, char *name)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 64;
        list->names = mem_grow_or_die(list->names, (size_t)list->cap * sizeof(*list->names));
    }
    list->names[list->n++] = name;
}

/* Folders below dir (or dir itself) that hold a case.txt, and archives there. */
static enum skiff_status find_cases(const char *dir, struct case_files *out,
                                    struct case_files *archives, struct skiff_error *err)
{
    struct case_files all;
    *out = *archives = (struct case_files){0};
    TRY(case_files_read(dir, &all, err));
    for (int i = 0; i < all.n; i++) {
        char *slash = strrchr(all.names[i], '/');
        if (archive_is_named(all.names[i]))
            keep(archives, mem_strdup_or_die(all.names[i]));
        if (strcmp(slash ? slash + 1 : all.names[i], "case.txt") != 0)
            continue;
        if (slash)
            *slash = 0;
        keep(out, mem_strdup_or_die(slash ? all.names[i] : "."));
    }
    case_files_deinit(&all);
    return SKIFF_OK;
}

/* The cases of the folder `root`; shown: what the folder is called in messages. */
static void find_in(const char *root, const char *shown, const struct case_files *cases,
                    const struct replay_finder *f)
{
    for (int i = 0; i < cases->n && !is_stopped(f); i++) {
        struct buf dir = BUF_INIT, name = BUF_INIT;
        const char *form = strcmp(cases->names[i], ".") ? "%s/%s" : "%s";
        buf_printf(&dir, form, root, cases->names[i]);
        buf_printf(&name, form, shown, cases->names[i]);
        f->on_case(f->arg, dir.data, name.data);
        buf_deinit(&dir);
        buf_deinit(&name);
    }
}

/* Unpacks into a folder that only we can see, which goes away again. *found grows by its cases. */
static enum skiff_status find_in_archive(const char *path, const struct replay_finder *f,
                                         int *found, struct skiff_error *err)
{
    struct case_files cases = {0}, inner = {0};
    const char *temp = getenv("TMPDIR");
    struct buf dir = BUF_INIT;
    buf_printf(&dir, "%s/skiff-replay-XXXXXX", temp && *temp ? temp : "/tmp");
    if (!mkdtemp(dir.data)) {
        buf_deinit(&dir);
        return error_set_sys(err, "%s: cannot create a temporary folder to unpack it into", path);
    }
    enum skiff_status status = archive_unpack(path, dir.data, f->stop, err);
    if (status == SKIFF_OK)
        status = find_cases(dir.data, &cases, &inner, err);
    if (status == SKIFF_OK)
        find_in(dir.data, path, &cases, f);
    *found += cases.n;
    file_remove_tree(dir.data);
    case_files_deinit(&cases);
    case_files_deinit(&inner);
    buf_deinit(&dir);
    return status;
}

static enum skiff_status find_in_folder(const char *root, const struct replay_finder *f, int *found,
                                        struct skiff_error *err)
{
    struct case_files cases, archives;
    TRY(find_cases(root, &cases, &archives, err));
    enum skiff_status status = SKIFF_OK;
    find_in(root, root, &cases, f);
    *found += cases.n;
    for (int i = 0; i < archives.n && status == SKIFF_OK && !is_stopped(f); i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", root, archives.names[i]);
        status = find_in_archive(path.data, f, found, err);
        buf_deinit(&path);
    }
    case_files_deinit(&cases);
    case_files_deinit(&archives);
    return status;
}

enum skiff_status replay_find(const char *root, const struct replay_finder *f,
                              struct skiff_error *err)
{
    enum skiff_status status;
    bool folder = file_is_dir(root);
    int found = 0;
    if (folder)
        status = find_in_folder(root, f, &found, err);
    else if (file_exists(root) && archive_is_named(root))
        status = find_in_archive(root, f, &found, err);
    else
        status =
            error_set(err, SKIFF_NOT_FOUND,
                      "%s is not a folder: give a folder with a case.txt in it or below it, or "
                      "an archive of one (x.tar.xz)",
                      root);
    if (status == SKIFF_OK && !found && !is_stopped(f))
        status = error_set(err, SKIFF_NOT_FOUND,
                           folder ? "%s: no case.txt in this folder or below it, nor in an archive "
                                    "there"
                                  : "%s: no case.txt in this archive",
                           root);
    return is_stopped(f) ? SKIFF_OK : status;
}
