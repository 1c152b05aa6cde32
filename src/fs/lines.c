/* A text in lines, whatever it lies on: blocks are cut where lines end. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fs/fs.h"

#define BLOCK ((size_t)64 << 10)

struct fs_lines {
    struct fs_reader *reader;
    struct buf text; /* what was read; the next line begins at `at` */
    size_t at;
    bool end; /* of the file */
};

enum skiff_status fs_lines_open(const struct fs_settings *s, const char *path,
                                const atomic_bool *stop, struct fs_lines **out,
                                struct skiff_error *err)
{
    struct fs_reader *r;
    TRY(fs_open(s, path, stop, &r, err));
    struct fs_lines *l = mem_alloc_or_die(sizeof *l);
    *l = (struct fs_lines){.reader = r};
    *out = l;
    return SKIFF_OK;
}

/* One more block behind what is left of the last. */
static enum skiff_status more(struct fs_lines *l, struct skiff_error *err)
{
    size_t got = 0;
    if (l->at) {
        memmove(l->text.data, l->text.data + l->at, l->text.len - l->at);
        l->text.len -= l->at;
        l->at = 0;
    }
    buf_reserve(&l->text, BLOCK + 1);
    TRY(fs_read(l->reader, l->text.data + l->text.len, BLOCK, &got, err));
    l->text.len += got;
    l->text.data[l->text.len] = 0;
    l->end = !got;
    return SKIFF_OK;
}

enum skiff_status fs_lines_next(struct fs_lines *l, const char **line, size_t *len,
                                struct skiff_error *err)
{
    char *newline = NULL;
    size_t seen = 0; /* behind `at`, without an end of line */
    for (;;) {
        char *from = l->text.data + l->at;
        if (l->text.len > l->at + seen)
            newline = memchr(from + seen, '\n', l->text.len - l->at - seen);
        if (newline || l->end)
            break;
        seen = l->text.len - l->at;
        TRY(more(l, err));
    }
    if (!newline && l->at == l->text.len) {
        *line = NULL;
        *len = 0;
        return SKIFF_OK;
    }
    char *start = l->text.data + l->at;
    size_t n = newline ? (size_t)(newline - start) : l->text.len - l->at;
    l->at += n + (newline != NULL);
    if (n && newline && start[n - 1] == '\r')
        n--;
    start[n] = 0;
    *line = start;
    *len = n;
    return SKIFF_OK;
}

void fs_lines_close(struct fs_lines *l)
{
    if (!l)
        return;
    fs_close(l->reader);
    buf_deinit(&l->text);
    free(l);
}
