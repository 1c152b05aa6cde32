/* News about the members of a job, for the launcher that started this process (report.h). */
#ifndef FLEET_REPORT_MEMBER_H
#define FLEET_REPORT_MEMBER_H

#include "net/membership.h"

/* As on_member of servers and sessions; user is not used. */
void fleet_report_member(void *user, const struct member *member);
/* As on_late of sessions. */
void fleet_report_late(void *user, int worker, const char *text, bool given_up);

#endif
