#include "data/line_format.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/source.h"

#define CRITEO_COLUMNS 40
#define LINE_MAX_BYTES ((size_t)1 << 20)

static bool is_number(const char *text, size_t n)
{
    char copy[64], *end;
    if (!n || n >= sizeof copy || isspace((unsigned char)*text))
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    strtod(copy, &end);
    return !*end;
}

static size_t count(const char *text, size_t n, char c)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += text[i] == c;
    return found;
}

/* What all words behind the first have in common. */
struct words {
    size_t n;          /* all words, with the first */
    bool first_number; /* the label of libsvm and libffm */
    bool named;        /* click:1, with the first */
    size_t colons;     /* in every word but the first; 0: not the same, or none */
};

static struct words look_at_words(const char *line)
{
    struct words w = {.named = true};
    for (const char *at = line + strspn(line, " \t\r\n"); *at; at += strspn(at, " \t\r\n")) {
        size_t n = strcspn(at, " \t\r\n"), colons = count(at, n, ':');
        const char *value = memchr(at, ':', n);
        if (!w.n++)
            w.first_number = is_number(at, n);
        else
            w.colons = w.n == 2 || colons == w.colons ? colons : 0;
        w.named &= colons == 1 && value > at && is_number(value + 1, n - (size_t)(value + 1 - at));
        at += n;
    }
    return w;
}

const char *line_format(const char *line)
{
    static const char separators[] = "\t,;|";
    size_t n = strlen(line), tabs = count(line, n, '\t');
    struct words w = look_at_words(line);
    if (tabs == CRITEO_COLUMNS - 1 && is_number(line, strcspn(line, "\t")))
        return "criteo";
    if (w.n && w.named)
        return "slot_text";
    if (w.n > 1 && w.first_number && w.colons == 1)
        return "libsvm";
    if (w.n > 1 && w.first_number && w.colons == 2)
        return "libffm";
    for (const char *c = separators; *c; c++)
        if (count(line, n, *c))
            return "csv";
    return NULL;
}

const char *file_line_format(const char *path)
{
    struct stream *stream;
    struct source source;
    const char *line, *format = NULL;
    size_t n;
    if (stream_open(path, NULL, &stream, NULL) < 0)
        return NULL;
    if (source_open(&source, stream, LINE_MAX_BYTES, NULL) < 0)
        return NULL;
    if (source_line(&source, &line, &n, NULL) == SKIFF_OK) {
        struct buf text = BUF_INIT;
        buf_add(&text, line, n);
        if (text.len)
            format = line_format(text.data);
        buf_deinit(&text);
    }
    source_close(&source);
    return format;
}
