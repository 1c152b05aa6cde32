/* PaddleRec's slot text: `name:value` tokens with blanks between them, in any order.
 *
 *   click:0 dense_feature:0.05 dense_feature:0.08 1:737395 2:210498
 *
 * names.h says which slot a name belongs to; names of no slot are ignored (but reported), unless
 * they look like the name of a slot that the row lacks. A slot without a token is missing: one 0
 * (ragged), zeros (dense); a row without its label is bad, unless the config says input_label
 * False. hash_size takes ids modulo that. */
#include "data/text.h"
#include "data/tokens.h"

extern const struct reader_class read_slot_text;

static enum skiff_status slot_text_create(const struct reader_config *config,
                                          const struct schema *schema, struct reader **out,
                                          struct skiff_error *err)
{
    return named_reader_create(sizeof(struct named_reader), &read_slot_text, config, schema,
                               "click", out, err);
}

static enum skiff_status slot_text_tokens(struct named_reader *r, const char *p, const char *end,
                                          struct batch *b, int *out_tokens, struct skiff_error *err)
{
    char quoted[64];
    for (;;) {
        p = text_skip_blanks(p, end);
        if (p == end)
            return SKIFF_OK;
        const char *stop = text_token_end(p, end);
        const char *colon = memchr(p, ':', (size_t)(stop - p));
        if (!colon || colon == p)
            return error_set(err, SKIFF_FORMAT, "expected slot:value, found %s",
                             text_quote(p, (size_t)(stop - p), quoted));
        int slot = name_table_find(&r->names, p, (size_t)(colon - p));
        ++*out_tokens;
        if (__builtin_expect(slot < 0, 0))
            row_fill_strange(&r->fill, b, &r->names, p, (size_t)(colon - p));
        else if (slot != r->skip)
            TRY(row_fill_put(&r->fill, b, slot, colon + 1, (size_t)(stop - colon - 1), r->mod,
                             err));
        p = stop;
    }
}

static enum skiff_status slot_text_line(struct reader *base, const char *text, size_t n,
                                        struct batch *b, struct skiff_error *err)
{
    struct named_reader *r = (struct named_reader *)base;
    int tokens = 0;
    row_fill_begin(&r->fill, b);
    enum skiff_status status = slot_text_tokens(r, text, text + n, b, &tokens, err);
    if (status == SKIFF_OK && tokens == 0)
        status = error_set(err, SKIFF_FORMAT, "expected slot:value, found a blank line");
    return named_reader_end(r, b, status, err);
}

const struct reader_class read_slot_text = {
    .name = "slot_text",
    .summary = "PaddleRec's slot text: click:0 dense_feature:0.05 1:737395",
    .drops_zeros = true,
    .create = slot_text_create,
    .destroy = named_reader_destroy,
    .line = slot_text_line,
    .strange = named_reader_strange,
};
