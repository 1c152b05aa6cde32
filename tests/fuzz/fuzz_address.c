/* Text from users and the environment: addresses, lists of them, and the lines in which a worker
 * reports to its launcher. Accepted text is printed, and reads back as the same. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fleet/report.h"
#include "fleet/role.h"
#include "fuzz.h"
#include "net/address.h"

static void require(int promise)
{
    if (!promise)
        abort();
}

static void try_address(const char *text)
{
    struct address a, again;
    char once[ADDRESS_TEXT], twice[ADDRESS_TEXT];
    if (address_parse(text, &a, NULL) < 0)
        return;
    address_print(&a, once);
    require(address_parse(once, &again, NULL) == SKIFF_OK);
    address_print(&again, twice);
    require(!strcmp(once, twice) && a.port == again.port);
}

static void try_list(const char *text)
{
    char **list;
    int n;
    if (role_list_parse("fuzz", text, &list, &n, NULL) < 0)
        return;
    char *joined = role_list_join(list, n), **again;
    int m;
    require(role_list_parse("again", joined, &again, &m, NULL) == SKIFF_OK && m == n);
    free(joined);
    role_list_deinit(again, m);
    role_list_deinit(list, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct report report;
    char line[256], *text = mem_alloc_or_die(n + 1);
    memcpy(text, data, n);
    try_address(text);
    try_list(text);
    if (report_parse(text, &report))
        require(report_encode(&report, line, sizeof line) > 0);
    free(text);
    return 0;
}
