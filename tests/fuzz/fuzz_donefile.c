/* Donefiles of online training (train/online_done.c): the first byte selects one of the three.
 * Accepted lines name days of the calendar and passes that a plan can have; a kept list reads back
 * as the same list, also with one more line. */
#include "fuzz.h"

#include <string.h>

#include "base/day.h"
#include "base/log.h"
#include "base/mem.h"
#include "train/online_done.h"
#include "train/online_plan.h"
#include "fuzz_folder.h"

static void require(bool promise)
{
    if (!promise)
        abort();
}

static void check_lines(const struct done_list *l)
{
    for (int i = 0; i < l->n; i++) {
        require(day_is_valid(l->at[i].day) && l->at[i].path[0]);
        require(l->at[i].pass >= DONE_DAY_BEGINS && l->at[i].pass <= 100000);
    }
}

static void check_again(struct done_list *l, enum done_kind kind)
{
    struct done_list again;
    struct skiff_error err;
    struct done_add more = {.day = 20190720, .pass = 3, .key = 7, .id = 8, .monitor = "a\"\\b"};
    require(done_list_repair(l, fuzz_folder(), kind, &err) == SKIFF_OK);
    require(done_list_add(l, fuzz_folder(), kind, &more, &err) == SKIFF_OK);
    require(done_list_read(&again, fuzz_folder(), kind, &err) == SKIFF_OK);
    require(!again.dropped && again.n == l->n &&
            done_list_has(&again, more.day, kind == DONE_BASE ? -1 : 3));
    for (int i = 0; i < l->n; i++)
        require(again.at[i].day == l->at[i].day && again.at[i].pass == l->at[i].pass &&
                again.at[i].key == l->at[i].key && !strcmp(again.at[i].path, l->at[i].path));
    done_list_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const names[] = {"donefile.txt", "base_donefile.txt", "patch_donefile.txt"};
    size_t before = mem_in_use();
    enum done_kind kind = n ? data[0] % 3 : 0;
    struct done_list l;
    struct skiff_error err = {0};
    char path[128];
    log_set_level(LOG_ERROR);
    fuzz_folder_write(names[kind], data + (n > 0), n - (n > 0), path);
    if (done_list_read(&l, fuzz_folder(), kind, &err) == SKIFF_OK) {
        check_lines(&l);
        check_again(&l, kind);
    } else
        require(err.message[0]);
    done_list_deinit(&l);
    unlink(path);
    require(mem_in_use() == before);
    return 0;
}
