/* skiff secret: secrets of jobs, made and put where they are needed. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"
#include "cli/command.h"
#include "launch/secret_share.h"

struct secret_flags {
    const char *out, *file, *hosts, *to;
};

static enum skiff_status make_one(const struct secret_flags *f, struct skiff_error *err)
{
    char secret[SECRET_TEXT] = "";
    enum skiff_status status = SKIFF_OK;
    secret_create(secret);
    if (f->out)
        status = secret_file_write(f->out, secret, err);
    else
        printf("%s\n", secret);
    if (f->out && status == SKIFF_OK)
        fprintf(stderr,
                "%s: new secret written; use it with --secret_file or SKIFF_SECRET_FILE=%s\n",
                f->out, f->out);
    secret_wipe(secret, sizeof(secret));
    return status;
}

static enum skiff_status send_all(const struct secret_flags *f, struct skiff_error *err)
{
    char path[4096], secret[SECRET_TEXT] = "", host[256];
    TRY(secret_home(f->file ? f->file : SECRET_PLACE, path, sizeof(path), err));
    if (f->file)
        snprintf(path, sizeof(path), "%s", f->file);
    TRY(secret_file_read(path, secret, err));
    enum skiff_status status = SKIFF_OK;
    for (const char *p = f->hosts; status == SKIFF_OK && *p;) {
        size_t n = strcspn(p, ", ");
        snprintf(host, sizeof(host), "%.*s", (int)n, p);
        p += n + strspn(p + n, ", ");
        if (!n)
            continue;
        status = secret_send(host, f->to, secret, err);
        if (status == SKIFF_OK)
            fprintf(stderr, "%s: copied to %s\n", host, f->to);
    }
    secret_wipe(secret, sizeof(secret));
    return status;
}

static enum skiff_status check_one(const struct secret_flags *f, struct skiff_error *err)
{
    char path[4096], secret[SECRET_TEXT] = "", weak[256];
    TRY(secret_home(f->file ? f->file : SECRET_PLACE, path, sizeof(path), err));
    if (f->file)
        snprintf(path, sizeof(path), "%s", f->file);
    TRY(secret_file_read(path, secret, err));
    bool bad = secret_is_weak(secret, weak, sizeof(weak));
    secret_wipe(secret, sizeof(secret));
    if (bad)
        return error_set(err, SKIFF_INVALID, "%s: %s", path, weak);
    printf("%s: ok: only its owner can read it, and it is hard to guess\n", path);
    return SKIFF_OK;
}

/* `new FILE` is `new --out FILE`, `send FILE` and `check FILE` are with --file. Not both. */
static bool take_file(const struct command_call *call, struct secret_flags *f)
{
    const char **to = !strcmp(call->words[0], "new") ? &f->out : &f->file;
    if (call->nwords < 2)
        return true;
    bool one = call->nwords == 2 && !*to;
    *to = call->words[1];
    return one;
}

static int run(const struct command_call *call)
{
    struct secret_flags *f = call->args;
    struct skiff_error err = {0};
    secret_guard();
    const char *what = call->nwords ? call->words[0] : "";
    enum skiff_status status;
    if (call->nwords && !take_file(call, f))
        return command_usage(call->name, "one file is expected behind %s", what);
    if (!strcmp(what, "new"))
        status = make_one(f, &err);
    else if (!strcmp(what, "send") && f->hosts && f->to[0])
        status = send_all(f, &err);
    else if (!strcmp(what, "check"))
        status = check_one(f, &err);
    else if (!strcmp(what, "send"))
        return command_usage(call->name, "--hosts LIST is needed, and --to must not be empty");
    else
        return command_usage(call->name, "expected new, send or check%s%s",
                             call->nwords ? ", found " : "", call->nwords ? call->words[0] : "");
    return status < 0 ? command_fail(call->name, &err) : 0;
}

#define AT(field) offsetof(struct secret_flags, field)

static const struct option rows[] = {
    {"out", OPTION_TEXT, AT(out), .value = "FILE", .default_text = "standard output",
     .help =
         "new: write the secret to FILE, which only its owner can read; an existing file is kept"},
    {"file", OPTION_TEXT, AT(file), .value = "FILE",
     .help = "send, check: read the secret from FILE", .default_text = "~/.skiff/secret"},
    {"hosts", OPTION_TEXT, AT(hosts), .value = "LIST",
     .help = "send: list the machines as host,user@host"},
    {"to", OPTION_TEXT, AT(to), .value = "FILE", .standard = SECRET_PLACE,
     .help = "send: set the path on the other machine, relative to the home folder"},
    {0}};

const struct command command_secret = {
    .name = "secret",
    .summary = "make the secret of a job and copy it to other machines",
    .usage = "new [FILE | --out FILE]\nsend [FILE | --file FILE] --hosts LIST [--to FILE]\n"
             "check [FILE | --file FILE]",
    .text = "The processes of a job authenticate each other with a secret. `new` makes one, `send` "
            "copies it to "
            "other machines by ssh, `check` tests whether others can read or guess it. "
            "docs/guide/security.md describes the protection.",
    .examples = "skiff secret new --out ~/.skiff/secret\n"
                "skiff secret send --hosts node1,node2\n"
                "skiff secret check",
    .group = COMMAND_OPERATE,
    .options = &(const struct options){.rows = rows, .words = "new|send|check [FILE]"},
    .args_size = sizeof(struct secret_flags),
    .run = run};
