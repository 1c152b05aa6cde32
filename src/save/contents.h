/* What is in this folder, or under this prefix? One answer for every command and binding: the kind
 * of layout, the parts by name, what the manifest says, complete or not.
 *
 *     TRY(save_open(&c, "model/3", err));
 *     switch (c.layout) ...
 *     TRY(save_check(&c, true, err));
 *     save_close(&c);
 *
 * Nothing that is read here is trusted, and nothing is loaded: loading reads the files of the parts
 * through a model_reader (store/model_dir.h), which compares them with the manifest once more.
 * Threads: one user. */
#ifndef SAVE_CONTENTS_H
#define SAVE_CONTENTS_H

#include "store/model_dir.h"

#define SAVE_EPOCH_STEM "rec_static" /* PaddleRec's, of the files of an epoch */
#define SAVE_NETWORK "dnn_plugin"    /* beside shards: the network behind the tables */
#define SAVE_DONEFILE "donefile.txt"
#define SAVE_TABLE_STATES \
    "__skiff_tables__" /* of skiff train: the state of each table, a line each */

/* A folder with several kinds of files is of the first kind in this list. */
enum save_layout {
    SAVE_LAYOUT_NONE,      /* not there, or no saved model */
    SAVE_LAYOUT_TABLES,    /* 000/part-*: sparse tables; behind them the dense parameters */
    SAVE_LAYOUT_TABLE,     /* part-*: one of these */
    SAVE_LAYOUT_STATE,     /* x.pdparams, x.pdopt, x.pdmodel: fluid.save, epochs without tables */
    SAVE_LAYOUT_FOLDER,    /* of 1.x: __model__ and parameters */
    SAVE_LAYOUT_PREFIX,    /* of 2.x: x.pdmodel and x.pdiparams */
    SAVE_LAYOUT_PASSES,    /* donefile.txt: days and passes of online training */
    SAVE_LAYOUT_EPOCHS,    /* 0, 1 ...: folders that skiff train leaves */
    SAVE_LAYOUT_VARIABLES, /* one file each, without a program */
    SAVE_LAYOUT_COMBINED   /* the path of one file of all variables */
};

enum save_part_kind {
    SAVE_PART_STATE,     /* x.pdparams */
    SAVE_PART_OPTIMIZER, /* x.pdopt */
    SAVE_PART_PROGRAM,   /* __model__, x.pdmodel */
    SAVE_PART_COMBINED,  /* x.pdiparams, __params__ */
    SAVE_PART_TABLE,     /* 000: shards; the last one may hold dense parameters */
    SAVE_PART_NETWORK,   /* dnn_plugin: a model of its own */
    SAVE_PART_EPOCH,     /* a folder with a number */
    SAVE_PART_SHARD,     /* part-*: of the table that the folder is */
    SAVE_PART_FILE       /* any other file: a variable's, maybe */
};

struct save_part {
    enum save_part_kind kind;
    const char *name; /* below the folder; borrowed from the listing */
    int64_t bytes;    /* of a file */
};

struct save_contents {
    enum save_layout layout;
    char *dir;               /* owned; the folder that the parts are in */
    char *stem;              /* owned; "x" of a prefix, or of the pickles of a folder; else NULL */
    bool prefix;             /* asked for a prefix or a file, not for the folder */
    struct save_part *parts; /* owned; by name; of a prefix: its files alone */
    int nparts;
    struct fs_list in; /* the folder's entries, when the view has none */
    struct folder_view view;
    bool borrowed;             /* the view and the manifest are */
    struct manifest files;     /* listed by the manifest; empty when there is none */
    bool listed;               /* there is a manifest */
    struct skiff_error damage; /* why it cannot be read; code SKIFF_OK: it can */
};

/* Finishes an interrupted commit first. A path that is not there, or is no model, is
 * SAVE_LAYOUT_NONE. A folder that has nothing but a folder 000 with a model in it, as online
 * training leaves it, is that model: `dir` is the folder within. Errors are those of storage.
 * Afterwards, in any case: save_close. */
enum skiff_status save_open(struct save_contents *c, const char *path, struct skiff_error *err);
/* The same for the files <path>.* alone, or the file <path>: also when there is a folder of that
 * name. */
enum skiff_status save_open_prefix(struct save_contents *c, const char *path,
                                   struct skiff_error *err);
/* The same for a folder that is being read; what the reader has listed is borrowed. */
enum skiff_status save_open_reader(struct save_contents *c, const struct model_reader *r,
                                   struct skiff_error *err);
void save_close(struct save_contents *c);

/* The first part of a kind; NULL: none. */
const struct save_part *save_part(const struct save_contents *c, enum save_part_kind kind);
/* The only one of a kind; NULL: none, or several. */
const struct save_part *save_part_only(const struct save_contents *c, enum save_part_kind kind);
/* The file of all variables, of a local folder: the one that is named so, or the only one that
 * begins like tensors. NULL: none. */
const struct save_part *save_part_combined(const struct save_contents *c);
int save_part_count(const struct save_contents *c, enum save_part_kind kind);
/* Is the file there, or ought it to be? */
bool save_names(const struct save_contents *c, const char *file);
/* For messages: "a model of Paddle 1.x". */
const char *save_layout_text(enum save_layout layout);
/* For bindings: "state", "optimizer", "program" and so on. */
const char *save_part_name(enum save_part_kind kind);

/* Are all files there that the manifest lists, with their sizes (sums: with their checksums)? Is
 * nothing in the folder still being written? Without a manifest: nothing is compared. */
enum skiff_status save_check(const struct save_contents *c, bool sums, struct skiff_error *err);

#endif
