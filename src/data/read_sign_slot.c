/* PaddleRec's slot_dnn text: `sign:slot` tokens with blanks between them, signs of 64 bits.
 *
 *   0:1 4351255118977467729:3 16543128959394097760:29
 *
 * Slot "1" is the label; a slot "0" or "show" that no token names is 1 (every line is one show).
 * What stands before a tab is the row's id. Names, missing slots and hash_size as in
 * slot_text. */
#include "data/text.h"
#include "data/tokens.h"

extern const struct reader_class read_sign_slot;

struct reader_sign_slot {
    struct named_reader named;
    int show; /* slot or -1 */
};

static enum skiff_status sign_slot_create(const struct reader_config *config,
                                          const struct schema *schema, struct reader **out,
                                          struct skiff_error *err)
{
    struct reader_sign_slot *r;
    TRY(named_reader_create(sizeof *r, &read_sign_slot, config, schema, "1", out, err));
    r = (struct reader_sign_slot *)*out;
    r->show = schema_find(schema, "show");
    if (r->show < 0)
        r->show = name_table_find(&r->named.names, "0\0\0\0\0\0\0\0", 1);
    return SKIFF_OK;
}

static enum skiff_status sign_slot_tokens(struct named_reader *r, const char *p, const char *end,
                                          struct batch *b, int *out_tokens, struct skiff_error *err)
{
    char quoted[64];
    for (;;) {
        p = text_skip_blanks(p, end);
        if (p == end)
            return SKIFF_OK;
        const char *stop = text_token_end(p, end);
        const char *colon = memchr(p, ':', (size_t)(stop - p));
        if (!colon || colon == p || colon + 1 == stop)
            return error_set(err, SKIFF_FORMAT, "expected sign:slot, found %s",
                             text_quote(p, (size_t)(stop - p), quoted));
        int slot = name_table_find(&r->names, colon + 1, (size_t)(stop - colon - 1));
        ++*out_tokens;
        if (__builtin_expect(slot < 0, 0))
            row_fill_strange(&r->fill, b, &r->names, colon + 1, (size_t)(stop - colon - 1));
        else if (slot != r->skip)
            TRY(row_fill_put(&r->fill, b, slot, p, (size_t)(colon - p), r->mod, err));
        p = stop;
    }
}

/* The show of a line that does not give it. */
static enum skiff_status sign_slot_show(struct reader_sign_slot *r, struct batch *b,
                                        struct skiff_error *err)
{
    static const char one[8 + TEXT_PAD] = "1";
    struct column *c = &b->columns[r->show];
    bool given =
        c->ragged ? (int64_t)c->count > c->offsets[b->rows] : r->named.fill.dense[r->show] > 0;
    return given ? SKIFF_OK : row_fill_put(&r->named.fill, b, r->show, one, 1, 0, err);
}

static enum skiff_status sign_slot_line(struct reader *base, const char *text, size_t n,
                                        struct batch *b, struct skiff_error *err)
{
    struct reader_sign_slot *r = (struct reader_sign_slot *)base;
    int tokens = 0;
    const char *end = text + n, *tab = memchr(text, '\t', n);
    row_fill_begin(&r->named.fill, b);
    if (tab)
        batch_row_id(b, text, (size_t)(tab - text));
    enum skiff_status status =
        sign_slot_tokens(&r->named, tab ? tab + 1 : text, end, b, &tokens, err);
    if (status == SKIFF_OK && tokens == 0)
        status = error_set(err, SKIFF_FORMAT, "expected sign:slot, found a blank line");
    if (status == SKIFF_OK && r->show >= 0)
        status = sign_slot_show(r, b, err);
    return named_reader_end(&r->named, b, status, err);
}

const struct reader_class read_sign_slot = {
    .name = "sign_slot",
    .summary = "slot_dnn text of PaddleRec: 0:1 4351255118977467729:3",
    .drops_zeros = true,
    .create = sign_slot_create,
    .destroy = named_reader_destroy,
    .line = sign_slot_line,
    .strange = named_reader_strange,
};
