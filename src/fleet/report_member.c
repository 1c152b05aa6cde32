#include "fleet/report_member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/report.h"

void fleet_report_member(void *user, const struct member *member)
{
    struct report_news n = {
        .kind = NEWS_MEMBER, .index = (int)member->id.index, .incarnation = member->incarnation};
    (void)user;
    if (member->id.role == NET_NOBODY)
        return;
    snprintf(n.role, sizeof n.role, "%s", member->id.role == NET_WORKER ? "worker" : "server");
    snprintf(n.state, sizeof n.state, "%s", member_state_text(member->state));
    snprintf(n.text, sizeof n.text, "%s", member->reason);
    const char *process = strstr(member->name, ", process "); /* "worker 0 (host, process 4711)" */
    if (process)
        n.process = atoi(process + strlen(", process "));
    report_news_send(&n);
}

void fleet_report_late(void *user, int worker, const char *text, bool given_up)
{
    struct report_news n = {.kind = given_up ? NEWS_ACCUSED : NEWS_LATE, .index = worker};
    (void)user;
    snprintf(n.role, sizeof n.role, "worker");
    snprintf(n.text, sizeof n.text, "%s", text);
    report_news_send(&n);
}
